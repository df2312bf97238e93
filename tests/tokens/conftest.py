"""The real encoder, loaded once."""

import pytest

from tests.factories import encoder


@pytest.fixture(scope="session", name="encoder")
def the_encoder():
    return encoder()
