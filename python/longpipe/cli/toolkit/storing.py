"""Options of commands that run several scenarios (--set, --store, --executor and others), and opening of the store."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from longpipe.cli.toolkit.completers import field_and_level
from longpipe.cli.toolkit.help import MORE
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import RunError, ScenarioError
from longpipe.system.interrupts import TERMINATED, TerminatedError, terminable

# Import the database only when it is needed, because loading takes half a second.
if TYPE_CHECKING:
    from longpipe.store import Store
    from longpipe.study import Runner, Study

VARIABLE: Final = "LONGPIPE_STORE"

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Change a field, as in switch.buffer='1 BDP'. Repeat for more.",
        autocompletion=field_and_level,
    ),
]


def _seed(value: int) -> int:
    """Returns a seed; raises ScenarioError for an invalid one."""
    if not 0 <= value < 1 << 64:
        # Imported here because it loads the core.
        from longpipe.run import check_seed

        check_seed(value)
    return value


SeedOption = Annotated[int, typer.Option(callback=_seed, help="Seed of every random stream.")]

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="Store of runs: a file, sqlite:///FILE or postgresql://... "
        "\\[default: the environment variable LONGPIPE_STORE, or a file in your home directory]",
        show_default=False,
        rich_help_panel=MORE,
    ),
]

ExecutorOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        help="Executor of the runs: processes, or dask://HOST:PORT. \\[default: processes]",
        show_default=False,
        rich_help_panel=MORE,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of worker processes. \\[default: all cores]", show_default=False, rich_help_panel=MORE
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory limit of all concurrent runs, as in '4 GB'. \\[default: four fifths of the available memory]",
        show_default=False,
        rich_help_panel=MORE,
    ),
]
NoStoreOption = Annotated[bool, typer.Option("--no-store", help="Neither store results nor read stored ones.")]


@dataclass(frozen=True)
class Computing:
    """Where the runs of a command are computed."""

    executor: ExecutorOption = None
    workers: WorkersOption = None
    memory: MemoryOption = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `Study.run` and `run_until`."""
        return {"executor": self.executor, "workers": self.workers, "memory": self.memory}

    def check(self) -> None:
        """Raises ScenarioError if the executor cannot be used."""
        if (self.executor, self.workers, self.memory) != (None, None, None):
            from longpipe.executors import executor_for

            executor_for(self.executor, self.workers, self.memory)


@dataclass(frozen=True)
class Execution(Computing):
    """Where the runs of a command are computed, and where they are stored."""

    store: StoreOption = None
    no_store: NoStoreOption = False

    @contextmanager
    def runner(self, *, fresh: bool = False, needs_store: bool = True) -> Iterator[Runner]:
        """Opens the store. On Ctrl-C or SIGTERM, prints how to continue the runs.

        Without `needs_store`, only a store that the user names is opened.
        """
        from longpipe.study import Runner

        no_store = self.no_store or (not needs_store and self.store is None)
        with opened_store(self.store, no_store=no_store) as store, repeatable(store):
            yield Runner(store, self.executor, self.workers, fresh, memory=self.memory)


def _chosen(url: str | None) -> str | None:
    # Read the variable here, because Typer could not distinguish it from --store, which excludes --no-store.
    return os.environ.get(VARIABLE) or None if url is None else url


def store_url(url: str | None) -> str:
    """Returns the URL of a store: the given one, that of the environment, or that of the user's default store."""
    from longpipe.store import default_url

    return _chosen(url) or default_url()


@contextmanager
def opened(url: str | None, *, readonly: bool = False, create: bool = True) -> Iterator[Store]:
    """Opens the store at the given URL, or the user's default store."""
    from longpipe.cli.toolkit.notes import notes_shown
    from longpipe.store import Store
    from longpipe.user_code.trust import UntrustedCodeWarning

    store = Store(store_url(url), readonly=readonly, create=create)
    try:
        with notes_shown(UntrustedCodeWarning):
            yield store
    finally:
        store.close()


def factors_of_study(name: str, url: str | None) -> list[str]:
    """Returns the factors of a stored study; none if there is no such study, or no store."""
    from longpipe.study import Study

    try:
        with opened(url, readonly=True, create=False) as store:
            return [factor.name for factor in Study.open(name, store).design.factors]
    except ScenarioError:
        return []


@contextmanager
def opened_store(url: str | None, *, no_store: bool) -> Iterator[Store]:
    """Opens the store at the given URL, or the user's default store.

    With `no_store`, or if no store can be opened, it returns a store in memory.
    """
    from longpipe.store import Store, default_url

    if no_store and url is not None:
        raise ScenarioError("--no-store: not with --store; needs one of them")
    address = _chosen(url)
    try:
        store = Store(None if no_store else address or default_url())
    except ScenarioError as error:
        if address is not None:
            raise
        echo(f"note: {error}; results are not kept", err=True)
        store = Store()
    try:
        yield store
    finally:
        store.close()


@contextmanager
def repeatable(store: Store) -> Iterator[None]:
    """On Ctrl-C or SIGTERM, prints the command that continues the runs."""
    try:
        with terminable():
            yield
    except KeyboardInterrupt as end:
        echo(f"{store.count()} finished runs are in {store.name}; the same command continues from there", err=True)
        _end(end)


@contextmanager
def resumable(study: Study) -> Iterator[None]:
    """States the command that continues the study on Ctrl-C or SIGTERM, and if the workers or the store are lost."""
    # Imported here because executors need modules that take a second to load.
    from longpipe.executors import ExecutorError
    from longpipe.store import StoreError

    try:
        with terminable():
            yield
    except KeyboardInterrupt as end:
        finished = study.status().finished
        # The outputs of the command have not been written yet.
        echo(f"{finished} finished runs are stored; continue with: {typed_command()}", err=True)
        _end(end)
    except (ExecutorError, StoreError) as error:
        raise RunError(f"{error}; continue with: {typed_command()}") from None


@contextmanager
def continuable() -> Iterator[None]:
    """On Ctrl-C or SIGTERM, prints the command that continues."""
    try:
        with terminable():
            yield
    except KeyboardInterrupt as end:
        echo(f"interrupted; continue with: {typed_command()}", err=True)
        _end(end)


def typed_command() -> str:
    """Returns the command line of this process, quoted for a shell."""
    return shlex.join(["longpipe", *sys.argv[1:]])


def _end(end: KeyboardInterrupt) -> NoReturn:
    """Exits with a status, because Typer supports only the status for Ctrl-C."""
    if isinstance(end, TerminatedError):
        raise typer.Exit(TERMINATED) from None
    raise end
