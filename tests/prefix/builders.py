"""Builders of requests, by name: other processes import them."""

import json
import os
import sys
import time
import uuid
from datetime import datetime

from pytest_ctxguard.prefix.hunting import HASH_SEEDS

SYSTEM = "You are the billing desk."


def steady():
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "What?"}]


def with_system(text):
    return [{"role": "system", "content": f"{SYSTEM} {text}"}, {"role": "user", "content": "What?"}]


def unique():
    return with_system(f"Request {uuid.uuid4()}.")


def seconds():
    return with_system(f"It is {datetime.now():%H:%M:%S}.")


def epoch():
    return with_system(f"Now: {int(time.time()) // 60}.")


def hours():
    return with_system(f"It is about {datetime.now():%H} o'clock.")


def today():
    return {"system": f"Today is {datetime.now():%A}.", "messages": steady()[1:]}


def month():
    return with_system(f"It is {datetime.now():%B}.")


def from_a_set():
    return with_system(", ".join({"alpha", "beta", "gamma", "delta", "epsilon"}))


def noisy():
    sys.stdout.write("building")
    return steady()


def registered(tools):
    return {"messages": steady(), "tools": tools}


def registered_by_name(tools):
    return {"messages": steady(), "tools": sorted(tools, key=lambda t: t["function"]["name"])}


def of_history(history):
    return history


def of_normalised_history(history):
    return [json.loads(json.dumps(message, sort_keys=True)) for message in history]


def failing_elsewhere():
    if os.environ.get("PYTHONHASHSEED") == HASH_SEEDS[0]:
        raise RuntimeError("no such file")
    return steady()


def of_text():
    return "a prompt"
