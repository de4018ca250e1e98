"""Compiled code of the user, copied into the cache directory, because a loaded file must not change."""

import atexit
import hashlib
import os
import shutil
import stat
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from longpipe.system.files import write_bytes

# First bytes of shared objects: ELF, Mach-O for one or several architectures, and PE.
MAGIC: Final = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")
# Permission of the group and of others to write.
_OF_OTHERS: Final = 0o022


def cache_folder(kind: str) -> Path:
    """Returns the folder for code of a kind, which only this user can write.

    This is a folder of the user's cache directory, or a temporary one of this process if the cache directory is
    read-only or belongs to another user.
    """
    folder = user_cache_path("longpipe") / kind
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if all(_is_private(path) for path in (folder, folder.parent)):
            return folder
    except OSError:
        pass
    return _temporary_folder(kind)


def _is_private(folder: Path) -> bool:
    """Returns whether a path is a directory, not a link, that belongs to this user; other users lose write access."""
    if not hasattr(os, "getuid"):
        # Windows: the cache directory is within the user's profile.
        return True
    status = folder.lstat()
    if not (stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()):
        return False
    if status.st_mode & _OF_OTHERS:
        folder.chmod(stat.S_IMODE(status.st_mode) & ~_OF_OTHERS)
    return True


def is_stored(path: Path) -> bool:
    """Returns whether a file exists in the cache and was written by this user."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode) and (not hasattr(os, "getuid") or status.st_uid == os.getuid())


@cache
def _temporary_folder(kind: str) -> Path:
    # Imported here because it loads modules for random numbers and compression, and is rarely needed.
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix=f"longpipe-{kind}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def cached(kind: str, content: bytes, suffix: str = ".so") -> Path:
    """Stores code under a name with its digest, and returns its path."""
    target = cache_folder(kind) / f"{hashlib.sha256(content).hexdigest()}{suffix}"
    if not is_stored(target):
        write_bytes(target, content)
    return target


@lru_cache(maxsize=64)
def cached_content(path: Path) -> bytes:
    """Returns the bytes of cached code, always as the same object, so that a pickle contains it once."""
    return path.read_bytes()
