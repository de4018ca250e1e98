"""Reading of input files: accepted contents, and errors of one line within bounded time."""

import bz2
import gzip
import json
import lzma
import os
import random
import socket
import tomllib
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longpipe.errors import ScenarioError
from longpipe.inputs import load_json, load_toml, parse_toml, read_bytes, read_lines, read_text
from longpipe.inputs.compression import format_of, parts
from longpipe.inputs.numbers import exact, scaled
from longpipe.inputs.text import encoding_of

MIB = 1 << 20


def refusal(file: Path, max_bytes: int = 256 * MIB) -> str:
    with pytest.raises(ScenarioError) as caught:
        read_bytes(file, "a file", max_bytes=max_bytes)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(file))


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "device"])
def test_only_regular_files_are_opened(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(file))
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to("/dev/zero")
    said = {"pipe": "a named pipe", "socket": "a socket", "folder": "a directory", "device": "a device"}[kind]
    assert refusal(file) == f": cannot be read, it is {said}; needs a file"


def test_oversized_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    os.truncate(file, 1 << 40)
    assert refusal(file) == ": 1024 GiB; needs a file of at most 256 MiB"
    file.write_bytes(b"12345")
    assert read_bytes(file, "a file", max_bytes=5) == b"12345"
    assert refusal(file, max_bytes=4) == ": 5 bytes; needs a file of at most 4 bytes"


def test_impossible_file_name_is_rejected(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == ": cannot be read, no such file or directory; needs a file"
    with pytest.raises(ScenarioError, match=r"not a file name; needs a file"):
        read_bytes("a\0b", "a file")


def test_gzip_of_several_members_with_zeros_behind_is_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(gzip.compress(b"one ") + gzip.compress(b"two") + bytes(512))
    assert read_bytes(file, "a file") == b"one two"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b"text" * 100, mtime=0)[:-9], ": broken gzip (it ends early); needs a file"),
        (gzip.compress(b"text", mtime=0)[:-8] + bytes(8), ": broken gzip (incorrect data check); needs a file"),
        (b"\x1f\x8b", ": broken gzip (it ends early); needs a file"),
        (b"\x1f\x8b\x07" + bytes(20), ": broken gzip (unknown compression method); needs a file"),
        (gzip.compress(b"text", mtime=0) + b"more", ": broken gzip (4 bytes after its end); needs a file"),
    ],
)
def test_broken_gzip_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "file").write_bytes(content)
    assert refusal(tmp_path / "file") == said


def outcome(file: Path) -> str:
    """Returns the line of the error; empty if the file could be read."""
    try:
        read_bytes(file, "a file")
    except ScenarioError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("written", "meant"), [("goe.toml", True), ("geo.tml", True), ("fiber.toml", False)])
def test_misspelt_name_gets_a_suggestion(tmp_path: Path, written: str, meant: bool) -> None:
    (tmp_path / "geo.toml").write_text("")
    suggestion = f" (did you mean '{tmp_path / 'geo.toml'}'?)" if meant else ""
    said = f": cannot be read, no such file or directory{suggestion}; needs a file"
    assert refusal(tmp_path / written) == said


def test_gzip_with_any_flipped_byte_is_read_or_rejected(tmp_path: Path) -> None:
    content = gzip.compress(json.dumps([{"a": k, "b": k * k} for k in range(40)]).encode(), mtime=0)
    read = 0
    for at in range(len(content)):
        (tmp_path / "file").write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        line = outcome(tmp_path / "file")
        read += line == ""
        assert line == "" or line.startswith(f"{tmp_path / 'file'}: broken gzip (")
    # The gzip header contains a timestamp, the operating system and the compression level; without its first two bytes
    # the file is not gzip.
    assert read < 12


def zstd(content: bytes) -> bytes:
    found: bytes = pa.compress(content, codec="zstd", asbytes=True)
    return found


PACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd,
}  # fmt: skip


@given(name=st.sampled_from(sorted(PACKERS)), members=st.lists(st.binary(max_size=5000), min_size=1, max_size=3))
def test_compressed_members_are_unpacked(name: str, members: list[bytes]) -> None:
    packed = b"".join(PACKERS[name](member) for member in members)
    assert format_of(packed) == name
    if any(members):
        assert b"".join(part for part, _ in parts(name, packed)) == b"".join(members)


@pytest.mark.parametrize("name", PACKERS)
def test_truncated_compression_is_rejected_or_noted(tmp_path: Path, name: str) -> None:
    file, content = tmp_path / "file", random.Random(1).randbytes(200_000)
    packed = PACKERS[name](content)
    file.write_bytes(packed[:-10])
    assert refusal(file) == f": broken {name} (it ends early); needs a file"
    defects: list[str] = []
    found = read_bytes(file, "a file", defects=defects)
    assert content.startswith(found)
    assert found
    assert defects == [f"the {name} data end early; the file is read up to there"]
    file.write_bytes(packed[:6])
    assert refusal(file) == f": broken {name} (it ends early); needs a file"


@pytest.mark.parametrize("name", PACKERS)
def test_a_decompression_bomb_of_any_format_is_rejected(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(PACKERS[name](bytes(64 * MIB)))
    assert f": {name} of " in refusal(tmp_path / "file", max_bytes=1 << 30)


def test_gzip_bomb_is_unpacked_only_to_a_bound(tmp_path: Path) -> None:
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(MIB)
    # 64 MiB are compressed to 64 KiB.
    packed = b"".join([*(packer.compress(zeros) for _ in range(64)), packer.flush()])
    (tmp_path / "file").write_bytes(packed)
    assert len(packed) < MIB / 14
    assert "that unpacks to more than 16 MiB; needs a file" in refusal(tmp_path / "file", max_bytes=1 << 30)
    small = gzip.compress(b"text" * 100)
    (tmp_path / "file").write_bytes(small)
    assert f": gzip of {len(small)} bytes that unpacks to more than 399 bytes; needs" in refusal(
        tmp_path / "file", max_bytes=399
    )


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_line_endings_of_every_system_are_accepted(tmp_path: Path, ends: str, encoding: str) -> None:
    text = ends.join(["time,rate", "", "0,1 \N{MICRO SIGN}s\u0085", "", "  ", ""])
    (tmp_path / "file").write_bytes(text.encode(encoding))
    assert read_lines(tmp_path / "file", "a file", legacy=True) == ["time,rate", "", "0,1 \N{MICRO SIGN}s\u0085"]


@given(
    st.text(st.characters(min_codepoint=9, max_codepoint=126), min_size=4), st.sampled_from(["utf-16-le", "utf-16-be"])
)
def test_ascii_in_utf_16_is_detected_without_a_mark(text: str, encoding: str) -> None:
    assert encoding_of(text.encode(encoding)) == encoding
    assert encoding_of(text.encode()) == "utf-8-sig"


def test_latin_1_is_read_only_if_allowed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes("a\nÉTOILE".encode("latin-1"))
    assert read_lines(file, "a file", legacy=True) == ["a", "ÉTOILE"]
    with pytest.raises(ScenarioError) as caught:
        read_text(file, "a file")
    assert str(caught.value) == f"{file}:2: not UTF-8 text (byte 0xc9); needs a file"
    file.write_bytes(b"a\nb\0")
    with pytest.raises(ScenarioError, match=r":2: not text \(it has a NUL character\); needs a file"):
        read_text(file, "a file", legacy=True)
    file.write_bytes(b"\xff\xfea\0b")
    with pytest.raises(ScenarioError, match=r":1: not UTF-16 text; needs a file"):
        read_text(file, "a file", legacy=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 5000, "TOML text: not TOML, too deep; needs at most 64 nested tables"),
        ("a = " + "[" * 70 + "]" * 70, "TOML text: a" + "[0]" * 19 + "[0...: too deep; needs at most 64 nested tables"),
        ("x = 1\na = " + "9" * 5000, "TOML text:2: not TOML, a number of 5000 digits; needs at most 64 bits"),
        ("x = 1\na.b = 0x" + "f" * 5000, "TOML text: a.b: a number of 20000 bits; needs at most 64"),
        ("x = {" + "b." * 100_000 + "b = 1}", "TOML text:1: a key of many parts; needs at most 64"),
        ('x = 1\n["a".' + "'b' . " * 100 + "b]", "TOML text:2: a key of many parts; needs at most 64"),
        ("b" * 10_000 + " = 1", "TOML text: " + "b" * 60 + "...: a name of 10000 characters; needs at most 200"),
        ("a = '" + "b" * 10_000 + "'", "TOML text: a: 10000 characters; needs at most 4096"),
    ],
)  # fmt: skip
def test_toml_is_parsed_within_bounds(text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_toml(text, "TOML text")
    assert str(caught.value) == said


def test_toml_within_its_bounds_is_parsed(tmp_path: Path) -> None:
    text = "\ufeff# a.b\nx = [" + ", ".join(f"'{k}.5 s'" for k in range(5000)) + "]\r\n[a.b]\ny.z = 1.5e3\n"
    (tmp_path / "a.toml").write_bytes(text.encode())
    assert load_toml(tmp_path / "a.toml") == tomllib.loads(text[1:])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 50_000, ":1: not JSON, depth limit exceeded at character 1026; needs a file"),
        ('{"a":\n' + "9" * 5000 + "}", ":2: not JSON, number is infinity when parsed as double at character 1; needs a file"),
        ("[1e99999999]", ":1: not JSON, number is infinity when parsed as double at character 2; needs a file"),
        ("", ": not JSON, Input is a zero-length, empty document at character 1; needs a file"),
        ("[NaN]", ":1: not JSON, unexpected character, expected a JSON value at character 2; needs a file"),
    ],
)  # fmt: skip
def test_json_is_parsed_within_bounds(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load_json(tmp_path / "a.json", "a file")
    assert str(caught.value).removeprefix(str(tmp_path / "a.json")) == said


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**15), max_value=10**15))
def test_numbers_are_scaled_exactly(number: object) -> None:
    text = f"{number:f}"
    assert exact(text) == Fraction(text)
    for scale in (Fraction(1), Fraction(10**12), Fraction(1, 3), Fraction(1, 2), Fraction(5, 10**13)):
        assert scaled(text, scale) == round(Fraction(text) * scale)


@pytest.mark.parametrize(
    "text",
    ["", ".", "-", "1/0", "1/2", "1e99999999", "9" * 41, "1_000", "inf", "nan", "0x10", " 1", "1 ", "\u0663", "e5"],
)
def test_text_without_a_bounded_decimal_has_no_value(text: str) -> None:
    assert exact(text) is None
    assert scaled(text, Fraction(1)) is None


@pytest.mark.parametrize(
    ("text", "value"), [("1.", 1), (".5", Fraction(1, 2)), ("+1e-3", Fraction(1, 1000)), ("5E2", 500)]
)
def test_numbers_are_read_as_programs_write_them(text: str, value: Fraction) -> None:
    assert exact(text) == value


@pytest.mark.parametrize("content", [b"\x0a\x0d\x0d\x0a" + bytes(24), b"\xd4\xc3\xb2\xa1" + bytes(20)])
def test_a_capture_in_place_of_text_names_the_command_that_reads_it(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "capture.pcapng"
    file.write_bytes(content)
    with pytest.raises(ScenarioError) as caught:
        read_text(file, "a TOML file")
    assert str(caught.value) == f"{file}: a capture of packets; needs a TOML file; `longpipe read` shows captures"
