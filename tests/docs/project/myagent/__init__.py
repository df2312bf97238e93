"""The agent of the pages: as little of one as they need."""

import os
import time

import httpx2

TOO_LONG = "This chat has become too long. Start a new chat; what was built is kept."
READ = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Read a chapter.",
        "parameters": {"type": "object", "properties": {"chapter": {"type": "integer"}}},
    },
}
TOOLS = [READ]
HISTORY = [
    {"role": "system", "content": "You read books."},
    {"role": "user", "content": "Read chapter 1."},
]


def run(question, *, base_url=None):
    """Ask the model one question; wait and ask again where it is busy."""
    url = base_url or os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
    body = {"model": "m", "messages": [{"role": "user", "content": question}]}
    for _ in range(3):
        response = httpx2.post(f"{url}/chat/completions", json=body)
        if response.status_code != 429:
            break
        time.sleep(float(response.headers.get("retry-after", 0)))
    return response.raise_for_status().json()["choices"][0]["message"]["content"]


def agent(server):
    """Return what the user reads."""
    try:
        return run("Which shard is failing?", base_url=server.openai_base_url)
    except httpx2.HTTPStatusError:
        return TOO_LONG


def chapter(name, arguments):
    """Run the tool ``read``."""
    return f"Chapter {arguments['chapter']}. " + "It rained on the harbour all day. " * 150


def build_request(tools, history):
    """Return the request that is sent."""
    return {"messages": list(history), "tools": sorted(tools, key=str)}
