"""What the frameworks leave behind, taken away within the test that made it."""

import gc
import sys

import pytest


@pytest.fixture(autouse=True)
def _nothing_left_open():
    """Collect connections that LlamaIndex's Memory never closes, while warnings of it are mild."""
    yield
    if "aiosqlite" in sys.modules:
        gc.collect()
