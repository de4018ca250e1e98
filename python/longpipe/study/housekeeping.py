"""Copies, merges, renames and deletes studies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from longpipe.design.text import base_of, differences
from longpipe.errors import ScenarioError
from longpipe.store import Store, renaming, studies
from longpipe.store.copying import Copied, copy_failures, copy_runs, copy_scenarios, copy_study
from longpipe.store.studies import StudyRecord
from longpipe.study.study import LONGEST_NAME, Study

Where = Store | str | Path

_RENAME: Final = "`longpipe study rename` renames one of them"


def copy_studies(source: Where, target: Where, *names: str, progress: Callable[[Copied], None] | None = None) -> Copied:
    """Copies studies with their runs, traces and failures to another store; without names, all that a store contains.

    Runs that the target has already are compared and kept. A study that the target has already is extended if the other
    one contains all of its runs. The same call continues after an interruption: `progress` is called after each
    batch of runs. Raises ScenarioError if there is no such study, if studies of the same name differ otherwise, and if
    the stores have different results of the same run.
    """
    with _opened(source, readonly=True) as from_store, _opened(target, create=True) as to_store:
        if from_store.is_same_as(to_store):
            raise ScenarioError(f"store: {to_store.name}: is also the source of the copy; needs another store")
        newer = [name for name in names or studies.names(from_store) if _replaces(from_store, to_store, name)]
        copy_scenarios(from_store, to_store, _digests(from_store, names) if names else None)
        total = Copied()
        for name in names or (None,):
            total += copy_runs(from_store, to_store, name, _added(total, progress))
            copy_failures(from_store, to_store, name)
        # The studies follow their runs, so that a study in the target has all runs that were copied with it.
        for name in newer:
            copy_study(from_store, to_store, name)
    return total


def rename_study(store: Where, name: str, new: str) -> None:
    """Renames a study of a store.

    Raises ScenarioError if there is no such study, if the new name is taken, and while a process runs the study.
    """
    if not 0 < len(new.strip()) <= LONGEST_NAME:
        raise ScenarioError(f"study: {new!r}; needs a name of 1 to {LONGEST_NAME} characters")
    with _opened(store) as opened:
        renaming.rename(opened, name, new)


def delete_study(store: Where, name: str, *, keep_runs: bool = False) -> int:
    """Deletes a study and those of its runs that belong to no other study, with their traces; returns how many runs.

    With `keep_runs`, its runs stay in the store. The same call continues after an interruption. Raises ScenarioError if
    there is no such study, and while a process runs it.
    """
    with _opened(store) as opened:
        return renaming.delete(opened, name, lambda design: base_of(design)[1], keep_runs=keep_runs)


@contextmanager
def _opened(where: Where, *, readonly: bool = False, create: bool = False) -> Iterator[Store]:
    """Returns a store, which is closed afterwards if it is opened here."""
    if isinstance(where, Store):
        yield where
        return
    with closing(Store(where, readonly=readonly, create=create)) as store:
        yield store


def _added(copied_before: Copied, progress: Callable[[Copied], None] | None) -> Callable[[Copied], None] | None:
    return None if progress is None else lambda done: progress(copied_before + done)


def _digests(store: Store, names: Iterable[str]) -> set[str]:
    """Returns the digests of the scenarios of studies: those of the points, and those that the points change."""
    digests: set[str] = set()
    for name in names:
        record = studies.require(store, name)
        digests.update(studies.digests(store, record))
        base = base_of(record.design)[1]
        digests.update(() if base is None else (base,))
    return digests


def _replaces(source: Store, target: Store, name: str) -> bool:
    """Returns whether the copy of a study replaces the study of this name in the target, which it contains.

    Raises ScenarioError if neither study contains the other.
    """
    record, other = studies.require(source, name), studies.find(target, name)
    if other is None:
        return True
    if record == replace(other, created_at=record.created_at, changed_at=record.changed_at):
        return False
    copied, present = Study.open(name, source), Study.open(name, target)
    lost, added = differences(present.design, copied.design), differences(copied.design, present.design)
    if lost and added:
        why = lost[0]
    elif point := _differing_point(copied, record, present, other):
        why = f"{point}: the content of a file, class or program"
    else:
        return not lost and (bool(added) or record.changed_at > other.changed_at)
    raise ScenarioError(f"study: {name!r} differs in {source.name} and {target.name}: {why}; {_RENAME}")


def _differing_point(first: Study, record: StudyRecord, second: Study, other: StudyRecord) -> str | None:
    """Returns the first point of both studies whose scenarios differ."""
    digests = dict(zip(first.design.points, studies.digests(first.store, record), strict=True))
    for point, digest in zip(second.design.points, studies.digests(second.store, other), strict=True):
        if digests.get(point, digest) != digest:
            return first.design.name_of(point)
    return None
