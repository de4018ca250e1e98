"""Bundles: one file with everything that a colleague needs to repeat a study bit for bit.

A bundle has the design, each point as the core runs it and as TOML, every run with its seed and the hash of its
results, the results as a table, the software and the machine of the export, and the user's own congestion controllers.
It does not refer to other files: the core runs a point without the traces or schedules from which it was resolved.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import multiprocessing
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from longpipe import _core
from longpipe.errors import RunError, ScenarioError, shown
from longpipe.inputs import open_regular, parse_json
from longpipe.scenario.warm_up import FIELD as WARM_UP
from longpipe.scenario.warm_up import without_warm_up
from longpipe.stacks import load
from longpipe.study.bundled_controls import (
    FOLDER,
    BundledControl,
    controls_of,
    files_of,
    index_of,
    read_controls,
)
from longpipe.system.files import write_bytes
from longpipe.system.memory import cores, limit_bytes, share

if TYPE_CHECKING:
    from longpipe.study.study import Study

FORMAT: Final = 1
INDEX: Final = "bundle.json"
POINTS: Final = "points/"
# Name, in the index, of the SHA-256 checksums of the parts for readers; bundles of earlier releases have none.
CHECKSUMS: Final = "sha256"
# Maximum number of changed parts that an error names.
MAX_NAMED: Final = 5
# Maximum total size of a bundle's files after decompression [byte].
MAX_BYTES: Final = 4 << 30
MAX_INDEX_BYTES: Final = 256 << 20
MAX_RUNS: Final = 1_000_000
# Errors that zipfile raises for damaged archives.
_DAMAGES: Final = (
    zipfile.BadZipFile, KeyError, ValueError, RuntimeError, NotImplementedError, EOFError, zlib.error, lzma.LZMAError,
    struct.error,
)  # fmt: skip
# A fixed date, so that equal content results in equal bytes.
_DATE: Final = (1980, 1, 1, 0, 0, 0)
_README: Final = """\
A study of longpipe {version} (engine {engine}): {name}, {runs} runs.

Repeat it, and compare every run bit by bit:

    longpipe study rerun {file}

This needs longpipe {version} with engine {engine} (`longpipe doctor` shows both), which is not on PyPI. In a clone of
its repository with that engine: pip install .
Without Rust: pip install the wheel that `make wheel` writes to dist/ in such a clone.

results.csv       the results, a row per run
design.json       the design: base scenario, factors, replications
points/           each point as a TOML file, for longpipe run
resolved/         each point as the core runs it, by its digest
bundle.json       every run with its seed and the hash of its results; software and machine
{controls}"""
_CONTROLS: Final = """\
controls/         congestion controllers of the author's own, by digest: objects, their C sources, pickled classes.
                  Rerun them with --trust, because they execute with your rights. To run a point alone,
                  you need the author's file at the place that the point names.
"""


@dataclass(frozen=True)
class BundledRun:
    """A run of a bundle: its point, its seed, the digest of its scenario, and the hash of its results."""

    point: int
    replication: int
    seed: int
    digest: str
    state_hash: str


@dataclass(frozen=True)
class Bundle:
    """The content of a bundle that is needed to repeat its runs."""

    name: str
    engine: str
    version: str
    runs: tuple[BundledRun, ...]
    # Resolved scenarios by digest, as JSON.
    resolved: dict[str, str]
    # The author's controllers, by digest.
    controls: dict[str, BundledControl] = field(default_factory=dict)
    # Whether the index has the checksums of the parts for readers: design, points, and table of results.
    has_checksums: bool = True


def write(study: Study, path: Path) -> Bundle:
    """Writes the finished runs of a study as a bundle, and returns it. Raises ScenarioError if there are none."""
    from longpipe.design.text import to_json
    from longpipe.system.provenance import machine, software

    table = study.frame()
    if table.empty:
        raise ScenarioError(f"study: {study.name!r} has no finished runs; needs longpipe study run {study.name}")
    runs, points, resolved, scenarios = [], {}, {}, {}
    for row, result in zip(table.to_dict("records"), study.results(), strict=True):
        digest = result.scenario.digest()
        scenarios[digest] = result.scenario
        resolved[digest] = result.scenario.resolved_json()
        points[int(row["point"])] = result.scenario.to_toml()
        numbers = {name: int(row[name]) for name in ("point", "replication", "seed")}
        runs.append(BundledRun(**numbers, digest=digest, state_hash=result.state_hash))
    about: dict[str, object] = {"software": software(), "machine": machine()}
    controls = controls_of(scenarios.values())
    if controls:
        about["controls"] = index_of(controls.values())
    readable = {
        "design.json": to_json(study.design).encode(),
        "results.csv": table.to_csv(index=False).encode(),
        **{f"{POINTS}{point}.toml": text.encode() for point, text in sorted(points.items())},
    }
    about[CHECKSUMS] = {name: _checksum(content) for name, content in readable.items()}
    index = {"format": FORMAT, "study": study.name, "engine": study.engine, "longpipe": _core.__version__, **about}
    described = {"version": _core.__version__, "engine": study.engine, "name": study.name, "runs": len(runs)}
    trust, note = (" --trust", _CONTROLS) if controls else ("", "")
    files = {
        "README.txt": _README.format(**described, file=path.name + trust, controls=note).encode(),
        INDEX: orjson.dumps({**index, "runs": runs}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
        **readable,
        **{f"resolved/{digest}.json": text.encode() for digest, text in sorted(resolved.items())},
        **dict(files_of(controls.values())),
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), text, zipfile.ZIP_DEFLATED)
    write_bytes(path, content.getvalue())
    return Bundle(study.name, study.engine, _core.__version__, tuple(runs), resolved, controls)


def read(path: Path) -> Bundle:
    """Reads a bundle; raises ScenarioError for other files, and for modified bundles."""
    needs = "needs a bundle of longpipe study export --bundle"
    try:
        with open_regular(path, needs.removeprefix("needs ")) as opened, zipfile.ZipFile(opened) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
                raise ScenarioError(f"{path}: more than {MAX_BYTES >> 30} GiB; {needs}")
            if archive.getinfo(INDEX).file_size > MAX_INDEX_BYTES:
                raise ScenarioError(f"{path}: {INDEX}: more than {MAX_INDEX_BYTES >> 20} MiB; {needs}")
            index = parse_json(archive.read(INDEX), f"{path}: {INDEX}", "the index of a bundle")
            runs = _runs(path, index)
            names = {run.digest: f"resolved/{run.digest}.json" for run in runs}
            resolved = {digest: archive.read(name).decode() for digest, name in names.items()}
            changed = _changed(path, archive, index.get(CHECKSUMS))
            inside = {name: archive.read(name) for name in archive.namelist() if name.startswith(f"{FOLDER}/")}
    except ScenarioError:
        raise
    except _DAMAGES as error:
        raise ScenarioError(f"{path}: {shown(str(error).strip(chr(39)))}; {needs}") from None
    if changed:
        named = ", ".join(changed[:MAX_NAMED]) + (", ..." if len(changed) > MAX_NAMED else "")
        raise ScenarioError(f"{path}: {named}: changed since the export; needs an unchanged bundle")
    for digest, text in resolved.items():
        if _checksum(text.encode()) != digest:
            raise ScenarioError(f"{path}: resolved/{digest}.json: does not match its name; needs an unchanged bundle")
    controls = read_controls(path, index.get("controls", []), inside)
    return Bundle(
        str(index["study"]),
        str(index["engine"]),
        str(index["longpipe"]),
        runs,
        resolved,
        controls,
        has_checksums=CHECKSUMS in index,
    )


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _changed(path: Path, archive: zipfile.ZipFile, checksums: Any) -> list[str]:  # noqa: ANN401 - any JSON value
    """Returns the parts for readers that differ from their checksums, are missing, or were added."""
    if checksums is None:
        return []
    if not isinstance(checksums, dict):
        raise ScenarioError(f"{path}: {INDEX}: {CHECKSUMS}: {shown(checksums)}; needs a checksum for each part")
    inside = set(archive.namelist())
    added = {name for name in inside if name.startswith(POINTS) and not name.endswith("/")} - checksums.keys()
    differing = {
        name for name, checksum in checksums.items() if name not in inside or _checksum(archive.read(name)) != checksum
    }
    return sorted(differing | added)


def _runs(path: Path, index: Any) -> tuple[BundledRun, ...]:  # noqa: ANN401 - any JSON value
    """Returns the runs that the index of a bundle lists. Raises ScenarioError if the index is invalid."""
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        format_ = index.get("format") if isinstance(index, dict) else index
        raise ScenarioError(f"{path}: format: {shown(format_)}; this longpipe reads {FORMAT}")
    missing = [name for name in ("study", "engine", "longpipe", "runs") if name not in index]
    rows = index.get("runs")
    if missing or not isinstance(rows, list) or not 0 < len(rows) <= MAX_RUNS:
        raise ScenarioError(f"{path}: {', '.join(missing) or 'runs'}: missing; needs a complete bundle")
    kinds = {"point": int, "replication": int, "seed": int, "digest": str, "state_hash": str}
    for row in rows:
        if not isinstance(row, dict) or any(type(row.get(name)) is not kind for name, kind in kinds.items()):
            needs = "needs integers point, replication and seed, and texts digest and state_hash"
            raise ScenarioError(f"{path}: runs: {shown(row)}; {needs}")
        if not (0 <= row["seed"] < 1 << 64 and row["digest"].isalnum()):
            raise ScenarioError(f"{path}: runs: {shown(row)}; needs a seed of 64 bits and a digest")
    return tuple(BundledRun(**{name: row[name] for name in kinds}) for row in rows)


def rerun(
    bundle: Bundle,
    workers: int | None = None,
    memory: str | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[tuple[BundledRun, str]]:
    """Yields each run, as it ends, with its hash on this machine; `progress` receives the number of finished runs."""
    number = workers or cores()
    limit = share(memory, number)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(number, len(bundle.runs)), mp_context=context) as pool:
        controls = list(bundle.controls.values())
        futures = {
            pool.submit(hash_of, bundle.resolved[run.digest], run.seed, limit, controls): run for run in bundle.runs
        }
        try:
            for count, done in enumerate(as_completed(futures), 1):
                progress(count)
                yield futures[done], done.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def hash_of(resolved: str, seed: int, memory: str | None = None, controls: Sequence[BundledControl] = ()) -> str:
    """Runs a resolved scenario and returns the hash of its results, or the reason why it cannot be run."""
    used = [control for control in controls if f'"{control.digest}"' in resolved]
    try:
        if not used:
            return _hash(resolved, seed, memory)
        from longpipe.controls import isolation

        names = ", ".join(control.name for control in used)
        return str(isolation.run(names, _with_controls, (resolved, seed, memory, used)))
    except (
        ScenarioError, RunError, _core.ScenarioError, _core.DefectError, _core.StackDefectError, _core.MemoryLimitError
    ) as error:  # fmt: skip
        return f"not run: {error}"


def _hash(resolved: str, seed: int, memory: str | None) -> str:
    # The core reports the problem of a malformed scenario.
    with suppress(KeyError, TypeError, orjson.JSONDecodeError):
        fields = orjson.loads(resolved)
        load(fields)
        if WARM_UP in fields:
            resolved = orjson.dumps(without_warm_up(fields)).decode()
    return str(_core.run(resolved, seed, None, [], limit_bytes(memory))["state_hash"])


def _with_controls(
    resolved: str, seed: int, memory: str | None, controls: Sequence[BundledControl], _progress: object
) -> str:
    """Runs a scenario in the process that exists for its controllers."""
    from longpipe.controls.class_registration import register
    from longpipe.run import control_error
    from longpipe.scenario.class_bases import base_settings

    for loaded_control in controls:
        loaded_control.remember()
    register([control.digest for control in controls], base_settings)
    try:
        return _hash(resolved, seed, memory)
    except _core.ControlError as error:
        raise control_error(error) from None
