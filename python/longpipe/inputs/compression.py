"""Decompression of files in the formats gzip, bzip2, xz and zstd, which are recognized by their first bytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

# First bytes of each format.
_MAGICS: Final = {
    "gzip": b"\x1f\x8b",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zstd": b"\x28\xb5\x2f\xfd",
}
# Endings of the names of compressed files, in lower case.
_SUFFIXES: Final = (".gz", ".bz2", ".xz", ".zst")
# Compressed bytes that are decompressed at once; a chunk of bzip2 or xz may expand to tens of megabytes. Of zstd, the
# decompressed bytes that are read at once; the last read of truncated data is lost.
_CHUNK: Final = 4096
_ZSTD_CHUNK: Final = 1 << 14
_GZIP_HEAD: Final = 16 + zlib.MAX_WBITS
# Memory limit of the decompressor of xz, which by default uses at most 64 MiB.
_MAX_MEMORY: Final = 256 << 20


class BrokenError(Exception):
    """Raised for damaged content; `is_early` means that the content ends before the end of the compressed data."""

    def __init__(self, reason: str, *, is_early: bool = False) -> None:
        super().__init__(reason)
        self.is_early = is_early


class _Decoder(Protocol):
    """Decompressor of one member of a file."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def format_of(content: bytes) -> str | None:
    """Returns the name of the format of compressed content; None for any other content."""
    return next((name for name, magic in _MAGICS.items() if content.startswith(magic)), None)


def plain_suffix(file: str) -> str:
    """Returns the suffix of a file name in lower case, without that of a compressed format: ".csv" for "a.csv.gz"."""
    name = file.lower()
    for ending in _SUFFIXES:
        name = name.removesuffix(ending)
    return name[name.rfind(".") :] if "." in name else ""


def parts(name: str, content: bytes) -> Iterator[tuple[bytes, int]]:
    """Yields the decompressed parts of content in the format `name`, each with the number of bytes read for it so far.

    Raises BrokenError for damaged content.
    """
    return _of_zstd(content) if name == "zstd" else _of_members(name, content)


def _decoder(name: str) -> Callable[[], _Decoder]:
    # Imported here because uncompressed files need none of these modules.
    if name == "gzip":
        return lambda: zlib.decompressobj(_GZIP_HEAD)
    if name == "bzip2":
        import bz2

        return bz2.BZ2Decompressor
    import lzma

    return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_MEMORY)


def _of_members(name: str, content: bytes) -> Iterator[tuple[bytes, int]]:
    """Decompresses one or more members; zeros may follow the last one, because tapes and gzip add them."""
    make, magic = _decoder(name), _MAGICS[name]
    at = 0
    while content.startswith(magic, at):
        member = make()
        while not member.eof:
            if at >= len(content):
                raise BrokenError("it ends early", is_early=True)
            chunk = content[at : at + _CHUNK]
            try:
                part = member.decompress(chunk)
            except (zlib.error, OSError, ValueError, EOFError, _lzma_error(name)) as error:
                raise BrokenError(_reason(error)) from None
            at += len(chunk) - len(member.unused_data)
            if part:
                yield part, at
    if content[at:].strip(b"\0"):
        raise BrokenError(f"{len(content) - at} bytes after its end")


def _lzma_error(name: str) -> type[Exception]:
    if name != "xz":
        return zlib.error
    import lzma

    return lzma.LZMAError


def _reason(error: Exception) -> str:
    return str(error).rpartition(": ")[2].lower()


def _of_zstd(content: bytes) -> Iterator[tuple[bytes, int]]:
    import pyarrow as pa

    stream: Any = pa.CompressedInputStream(pa.BufferReader(content), "zstd")
    is_empty = True
    while True:
        try:
            part = stream.read(_ZSTD_CHUNK)
        except OSError as error:
            is_early = "runcated" in str(error)
            raise BrokenError("it ends early" if is_early else _reason(error), is_early=is_early) from None
        if not part:
            break
        is_empty = False
        # The library does not state how much it has read.
        yield part, len(content)
    if is_empty:
        raise BrokenError("it ends early", is_early=True)
