"""Mutates files: single bytes, numbers, lines, the encoding, and the compression."""

import gzip
import random
import re
from collections.abc import Callable
from typing import Final

NUMBER: Final = re.compile(rb"[0-9]+(?:\.[0-9]+)?")
NUMBERS: Final = (
    b"0", b"-1", b"1e99999999", b"1e-99999999", b"1/0", b"nan", b"inf", b"-inf", b"1e308", b"18446744073709551616",
    b"9223372036854775807", b"9" * 400, b"9" * 5000, b"0x10", b"1_0", b"1,5", b"1e5", b".5", b"5.", b"+7", b"\xd9\xa3", b"1705744800616897349",
)  # fmt: skip
WORDS: Final = (
    b"\xef\xbb\xbf", b"\xc2\xa0", b"\0", b"\r", b"\r\n", b"\n\n", b"\xc3\x89", b"\xc9", b"\xc2\x85", b'"', b"'", b"[" * 3000, b"{" * 3000,
    b"a." * 3000, b"<a>" * 500, b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"\x1b[31m", b"=", b",", b";", b"\t", b"#", b"\\", b"(" * 300,
    b" " * 3000, b"a" * 3000, b"true", b"null", b"{}", b"[]", b"%{ assert 9*9*9 }%", b"-", b"\xf0\x9f\x9b\xb0", b"\xff\xfe",
)  # fmt: skip


def mutated(seed: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Returns a file with one to four mutations; a part of `others`, files of other formats, may be inserted."""
    found = seed
    for _ in range(draw.choice((1, 1, 2, 4))):
        found = draw.choice(ALL)(found, draw)
    if draw.random() < 0.02:
        other = draw.choice(others)
        begin = draw.randrange(len(other) + 1)
        found = _put(found, draw, other[begin : begin + draw.randrange(1, 2000)])
    return found


def _at(content: bytes, draw: random.Random) -> int:
    return draw.randrange(len(content) + 1)


def _put(content: bytes, draw: random.Random, part: bytes) -> bytes:
    at = _at(content, draw)
    return content[:at] + part + content[at:]


def _flip(content: bytes, draw: random.Random) -> bytes:
    if not content:
        return content
    at = draw.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :]


def _byte(content: bytes, draw: random.Random) -> bytes:
    return _put(content, draw, bytes([draw.randrange(256)]))


def _cut(content: bytes, draw: random.Random) -> bytes:
    at = _at(content, draw)
    return content[:at] + content[at + draw.choice((1, 2, 5, 50)) :]


def _end(content: bytes, draw: random.Random) -> bytes:
    return content[: _at(content, draw)]


def _number(content: bytes, draw: random.Random) -> bytes:
    found = list(NUMBER.finditer(content))
    if not found:
        return content
    one = draw.choice(found)
    return content[: one.start()] + draw.choice(NUMBERS) + content[one.end() :]


def _word(content: bytes, draw: random.Random) -> bytes:
    return _put(content, draw, draw.choice(WORDS))


def _lines(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    how = draw.randrange(4)
    if how == 0:
        lines.insert(other, lines[one])
    elif how == 1:
        lines[one], lines[other] = lines[other], lines[one]
    elif how == 2:
        del lines[one]
    else:
        lines[one:one] = [lines[one]] * draw.choice((10, 1000))
    return b"\n".join(lines)


def _encoding(content: bytes, draw: random.Random) -> bytes:
    return content.decode("utf-8", "replace").encode(draw.choice(("utf-16", "utf-8-sig", "utf-16-le", "utf-7")))


def _ends(content: bytes, draw: random.Random) -> bytes:
    return content.replace(b"\n", draw.choice((b"\r\n", b"\r", b"\x0b", b" ")))


def _packed(content: bytes, draw: random.Random) -> bytes:
    packed = gzip.compress(content, mtime=0)
    return draw.choice((lambda: packed, lambda: _flip(packed, draw), lambda: _end(packed, draw)))()


def _field(content: bytes, draw: random.Random) -> bytes:
    """Replaces a length or a time of a binary format: 2, 4 or 8 aligned bytes, in either byte order."""
    size = draw.choice((2, 4, 8))
    if len(content) < size:
        return content
    at = draw.randrange(len(content) // size) * size
    value = draw.choice((0, 1, (1 << 8 * size) - 1, 1 << 8 * size - 1, 1 << 8 * size - 2, draw.getrandbits(8 * size)))
    return content[:at] + value.to_bytes(size, draw.choice(("little", "big"))) + content[at + size :]


# Single bytes and numbers are mutated more often than the rest.
ALL: Final[tuple[Callable[[bytes, random.Random], bytes], ...]] = (
    _flip, _flip, _byte, _cut, _cut, _end, _number, _number, _number, _word, _word, _lines, _lines, _encoding, _ends, _packed, _field, _field,
)  # fmt: skip
