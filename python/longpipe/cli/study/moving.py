"""`longpipe study create`, `copy`, `merge`, `rename` and `delete`."""

import shlex
import sys
from collections.abc import Sequence

import typer

from longpipe.cli.toolkit.console import terminal
from longpipe.cli.toolkit.progress import RunBar
from longpipe.cli.toolkit.storing import continuable, opened
from longpipe.cli.toolkit.warnings import changes_shown, warn_of_design
from longpipe.design import Design
from longpipe.errors import ScenarioError
from longpipe.store import Store, studies
from longpipe.study import Study, copy_studies, delete_study, rename_study


def create(name: str, url: str | None, design: Design) -> None:
    """Stores a study that has not started."""
    warn_of_design(design)
    with opened(url) as store, changes_shown():
        status = Study(design, store, name).status()
    option = "" if url is None else f" --store {shlex.quote(url)}"
    _tell(f"{name}: {status.runs} runs, {status.finished} finished; longpipe study run {shlex.quote(name)}{option}")


def copy(names: Sequence[str], url: str | None, to: str) -> None:
    """Copies studies, or all that a store contains, to another store."""
    with opened(url, readonly=True) as source:
        _copy(source, to, names)


def merge(urls: Sequence[str], url: str | None) -> None:
    """Copies all that other stores contain to a store."""
    for other in urls:
        with opened(other, readonly=True) as source:
            _copy(source, url, ())


def _copy(source: Store, to: str | None, names: Sequence[str]) -> None:
    # The target is not created if the source lacks one of the studies.
    runs = sum(studies.require(source, name).runs for name in names) if names else source.count()
    with opened(to) as target, continuable(), RunBar(f"copying {source.name}") as bar:
        done = copy_studies(
            source, target, *names, progress=lambda done: bar.update((done.copied + done.present) / max(runs, 1))
        )
        present = f", {done.present} were there" if done.present else ""
        _tell(f"{done.copied} runs copied to {target.name}{present}")


def rename(name: str, new: str, url: str | None) -> None:
    """Renames a study."""
    with opened(url, create=False) as store:
        rename_study(store, name, new)
    _tell(f"{name}: renamed to {new}")


def delete(name: str, url: str | None, *, keep_runs: bool, yes: bool) -> None:
    """Deletes a study once the user has confirmed it."""
    with opened(url, create=False) as store:
        record = studies.require(store, name)
        if not yes:
            if not sys.stdin.isatty():
                raise ScenarioError(
                    "--yes: missing; needs --yes to delete a study if no terminal can ask for confirmation"
                )
            runs = "" if keep_runs else f" and up to {record.runs} runs"
            typer.confirm(f"Delete study {name!r}{runs} from {store.name}?", abort=True)
        with continuable():
            deleted = delete_study(store, name, keep_runs=keep_runs)
    _tell(f"{name}: deleted, with {deleted} of its {record.runs} runs")


def _tell(text: str) -> None:
    terminal().print(text, markup=False, soft_wrap=True)
