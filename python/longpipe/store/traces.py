"""Traces of runs: Parquet files next to the store."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longpipe.store import checksums
from longpipe.store.errors import DamagedError, StoreError, reason
from longpipe.system.files import write_bytes

if TYPE_CHECKING:
    import pandas as pd


class Traces:
    """A directory that has, for each run with traces, a folder with one Parquet file per trace.

    `directory` is None if there is none. With `in_memory`, the files are kept in memory.
    """

    def __init__(self, directory: Path | None, store: str, *, in_memory: bool) -> None:
        self._directory = directory
        self._store = store
        self._files: dict[Path, bytes] | None = {} if in_memory else None

    def check(self, is_requested: bool) -> None:
        """Raises StoreError if traces are requested but there is no directory for them."""
        if is_requested and self._directory is None and self._files is None:
            raise StoreError(f"store {self._store}: no directory for traces; needs ?traces=DIR in its URL")

    def folder(self, digest: str, seed: int, engine: str) -> Path:
        """Returns the folder for the traces of a run."""
        return (self._directory or Path()) / engine / digest[:2] / digest / str(seed)

    def write(self, folder: Path, traces: Mapping[str, bytes]) -> None:
        """Writes a Parquet file for each trace, each one atomically."""
        self.check(bool(traces))
        for kind, content in traces.items():
            path = folder / f"{kind}.parquet"
            if self._files is not None:
                self._files[path] = content
                continue
            try:
                folder.mkdir(parents=True, exist_ok=True)
                write_bytes(path, content)
            except OSError as error:
                raise StoreError(f"store {self._store}: {path.name}: {reason(error)}; run it again") from None

    def contents(self, folder: Path, kinds: Mapping[str, str]) -> dict[str, bytes]:
        """Returns the files of a run's traces, whose checksums are in `kinds`, except those that the user has deleted.

        Raises StoreError for a file that differs from the one that was stored.
        """
        verified = {}
        for kind, expected in kinds.items():
            path = folder / f"{kind}.parquet"
            with contextlib.suppress(FileNotFoundError, KeyError):
                verified[kind] = self._verified(path, expected)
        return verified

    def remove(self, folder: Path) -> None:
        """Deletes the traces of a run, if there are any."""
        if self._files is not None:
            for path in [path for path in self._files if path.parent == folder]:
                del self._files[path]
        elif self._directory is not None:
            shutil.rmtree(folder, ignore_errors=True)
            # The folder of a scenario is deleted with its last run.
            with contextlib.suppress(OSError):
                folder.parent.rmdir()

    def _verified(self, path: Path, expected: str | None) -> bytes:
        """Returns the content of a file. Raises StoreError if it differs from the one that was stored."""
        content = path.read_bytes() if self._files is None else self._files[path]
        try:
            if expected is not None:
                checksums.check_bytes(content, expected, f"{path}")
        except DamagedError as error:
            raise StoreError(f"store {self._store}: {error}") from None
        return content

    def read(
        self, folder: Path, kinds: Mapping[str, str | None], names: Mapping[str, Sequence[str]]
    ) -> dict[str, pd.DataFrame]:
        """Returns the traces of a run; columns in `names` become categorical.

        `kinds` contains the checksums of the files, which are None in copies of older stores.
        """
        import pandas as pd

        frames = {}
        for kind, expected in kinds.items():
            path = folder / f"{kind}.parquet"
            try:
                content = self._verified(path, expected)
            except OSError as error:
                problem = f"{path}: {reason(error)}; needs the traces of its runs"
                raise StoreError(f"store {self._store}: {problem}") from None
            frame = pd.read_parquet(io.BytesIO(content))
            for column, categories in names.items():
                if column in frame:
                    frame[column] = frame[column].cat.set_categories(pd.Index(categories))
            frames[kind] = frame
        return frames
