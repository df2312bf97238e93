"""The classes of characters that a fitted estimator has constants for.

It imports nothing of ours, so that its source can stand in the code that uses such an estimator.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

ASCII = re.compile(r"[A-Za-z0-9]+|[\x00-\x7f]")
NO_SCRIPT = ("", "FEMININE", "MASCULINE", "MICRO", "MODIFIER")  # how names of such letters begin
MIXED = re.compile(r"[a-z][A-Z]|[0-9]|[A-Z]{2,}[a-z]")


@lru_cache(maxsize=1 << 14)
def character_class(character: str) -> str:
    """Return the class of a character beyond ASCII: its script, or what else it is."""
    category = unicodedata.category(character)
    wide = ord(character) > 0xFFFF
    if category in ("Cc", "Cs", "Co", "Cn"):
        return {"Cc": "control", "Cs": "symbol", "Co": "private use", "Cn": "unassigned"}[category]
    if unicodedata.normalize("NFC", character) != character:
        return "not NFC"
    if category in ("So", "Sk") and wide:
        return "emoji"
    if wide:
        return "supplementary"
    name = unicodedata.name(character, "").partition(" ")[0].partition("-")[0]
    if category == "Cf" or name == "VARIATION":
        return "format"
    if name == "HANGUL" and character < "\uac00":
        return "JAMO"  # the parts that decomposed syllables are written in
    if category[0] in "LM" or category == "Nd":
        return "symbol" if name in NO_SCRIPT else name
    return "symbol"


def class_counts(text: str) -> Counter[str]:
    """Return class -> how often it stands in a text.

    ASCII words count once for each run of letters and once for each letter; letters in runs with
    digits or mixed case, as in keys and base64, are dense. Other characters count by class.
    """
    found: Counter[str] = Counter()
    for run in ASCII.findall(text):
        if not run.isalnum():
            kind = "space" if run == " " else "line break" if run in "\n\r\t" else "punctuation"
            found["control" if kind == "punctuation" and not run.isprintable() else kind] += 1
        elif MIXED.search(run):
            digits = sum(map(str.isdigit, run))
            found["digit"] += digits
            found["dense letter"] += len(run) - digits
        else:
            found["word"] += 1
            found["letter"] += len(run)
    found.update(character_class(c) for c in text if c > "\x7f")
    return +found


def estimate_by(constants: dict[str, float], text: str) -> int:
    """Return the estimated tokens of a text, rounded up.

    A class without a constant counts the bytes of its characters in UTF-8.
    """
    counts = class_counts(text)
    total = sum(constants[name] * count for name, count in counts.items() if name in constants)
    if missing := counts.keys() - constants.keys() - {"word"}:
        beyond = [c for c in text if c > "\x7f" and character_class(c) in missing]
        total += sum(counts[name] for name in missing) - len(beyond)  # one byte each
        total += sum(len(c.encode("utf-8", "replace")) for c in beyond)
    return -int(-total // 1)
