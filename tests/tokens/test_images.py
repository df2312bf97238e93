"""What providers bill for an image."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import ModelMissing, UsageError
from pytest_ctxguard.tokens.images import PRICES, Image, image_tokens, images
from pytest_ctxguard.tokens.openai import OpenAICounter
from tests.factories import user

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAoAAAAUCAYAAAC07w7bAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)
SIDES = st.integers(1, 9000)


@pytest.mark.parametrize(
    ("width", "height", "detail", "tokens"),
    [
        (64, 64, "high", 255),
        (1024, 1024, "high", 765),
        (2048, 4096, "high", 1105),
        (4096, 8192, "low", 85),
        (512, 512, "auto", 255),
        (513, 512, "auto", 425),
        (1920, 1080, "auto", 1105),
    ],
)
def test_tokens_04_an_image_is_priced_by_its_size(width, height, detail, tokens):
    assert image_tokens(width, height, model="gpt-4o", detail=detail) == tokens


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("gpt-4o-mini-2024-07-18", (1024, 1024), 2833 + 4 * 5667),
        ("o1", (1024, 1024), 75 + 4 * 150),
        ("openai/gpt-5", (1024, 1024), 70 + 4 * 140),
        ("gpt-4.1-mini", (1024, 1024), 1659),
        ("o4-mini", (1800, 2400), 2498),  # 1,452 patches, as OpenAI's guide works out
        ("claude-sonnet-4", (200, 200), 54),
        ("claude-sonnet-4", (1000, 1000), 1334),
        ("claude-sonnet-4", (1092, 1092), 1590),
        ("claude-sonnet-4", (4000, 4000), 1600),
        ("gemini-2.5-pro", (384, 384), 258),
        ("gemini-2.5-pro", (1536, 768), 516),
    ],
)
def test_the_worked_examples_of_the_providers(model, size, tokens):
    assert image_tokens(*size, model=model) == tokens


@given(SIDES, SIDES, st.sampled_from(sorted(PRICES)))
def test_any_image_has_a_price_that_is_the_same_on_its_side(width, height, model):
    tokens = image_tokens(width, height, model=model)
    assert tokens > 0
    assert tokens == image_tokens(height, width, model=model)


@given(SIDES, SIDES, st.sampled_from(["gpt-4.1-mini", "o4-mini"]))
def test_patches_are_bounded(width, height, model):
    most = {"gpt-4.1-mini": 1.62, "o4-mini": 1.72}[model] * 1536
    assert image_tokens(width, height, model=model) <= most + 1


def test_every_price_says_where_and_when_it_stood():
    for price in PRICES.values():
        assert "." in price.source
        assert price.as_of.startswith("20")


def test_a_model_without_a_price_is_refused():
    with pytest.raises(UsageError, match="no image price is known for 'llava'"):
        image_tokens(10, 10, model="llava")


@pytest.mark.parametrize("size", [(0, 10), (10, -1)])
def test_an_image_without_pixels_is_refused(size):
    with pytest.raises(UsageError, match="both sides are 1 or more"):
        image_tokens(*size, model="gpt-4o")


def part(url, detail=None, **size):
    told = {"url": url} | ({"detail": detail} if detail else {})
    return {"type": "image_url", "image_url": told} | ({"size": size} if size else {})


def test_a_size_is_read_from_the_part_or_from_the_image():
    message = user(
        [
            {"type": "text", "text": "See."},
            part("https://host/a.png", "low", width=30, height=40, bytes=9),
            part(PNG),
            part("https://host/b.png", "high"),
        ]
    )
    assert list(images(message)) == [
        Image((30, 40), "low"),
        Image((10, 20), "auto"),
        Image(None, "high"),
    ]
    assert list(images(user("text"))) == []


def test_a_counter_of_openais_prices_images_and_not_their_base64():
    try:
        counter = OpenAICounter()
    except ModelMissing as error:
        pytest.skip(str(error))
    bare = counter.count([user([{"type": "text", "text": "See."}])])

    def extra(*parts):
        return counter.count([user([{"type": "text", "text": "See."}, *parts])]) - bare

    assert extra(part("https://host/a.png", width=1024, height=1024)) == 765
    assert extra(part(PNG)) == extra(part(PNG + "A" * 4000, width=10, height=20)) == 255
    assert extra(part("https://host/b.png")) == 0
