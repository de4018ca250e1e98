"""Compiled code of the user, copied into the cache directory, because a loaded file must not change."""

import hashlib
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from longpipe.files import write_bytes

# First bytes of shared objects: ELF, Mach-O for one or several architectures, and PE.
MAGIC: Final = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")


def cache_folder(kind: str) -> Path:
    """Returns the folder for code of a kind, or a temporary one if the cache directory is read-only."""
    folder = user_cache_path("longpipe") / kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"longpipe-{kind}-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def cached(kind: str, content: bytes, suffix: str = ".so") -> Path:
    """Stores code under a name with its digest, and returns its path."""
    target = cache_folder(kind) / f"{hashlib.sha256(content).hexdigest()}{suffix}"
    if not target.is_file():
        write_bytes(target, content)
    return target


@lru_cache(maxsize=64)
def cached_content(path: Path) -> bytes:
    """Returns the bytes of cached code, always as the same object, so that a pickle contains it once."""
    return path.read_bytes()
