"""The option --store of every command that has one, and what is done with it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from longpipe.errors import ScenarioError
from longpipe.interrupts import TerminatedError, terminable

# The database takes half a second to load; commands that don't need it need not wait for it.
if TYPE_CHECKING:
    from longpipe.store import Store
    from longpipe.study import Study

VARIABLE: Final = "LONGPIPE_STORE"
# As a shell has it of a process that SIGTERM ends.
TERMINATED: Final = 143

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="Store of runs: a file, sqlite:///FILE or postgresql://... "
        "\\[default: LONGPIPE_STORE of the environment, or a file of yours]",
        show_default=False,
    ),
]

ExecutorOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        help="Executor of the runs: processes, or dask://HOST:PORT. \\[default: processes]",
        show_default=False,
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Number of worker processes. \\[default: all cores]", show_default=False)
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory limit of all concurrent runs, as in '4 GB'. \\[default: four fifths of the available memory]",
        show_default=False,
    ),
]
NoStoreOption = Annotated[bool, typer.Option("--no-store", help="Neither store results nor read stored ones.")]


def _chosen(url: str | None) -> str | None:
    # Not an option's variable for Typer, which could not tell it from the option that --no-store excludes.
    return os.environ.get(VARIABLE) or None if url is None else url


@contextmanager
def opened(url: str | None, *, readonly: bool = False, create: bool = True) -> Iterator[Store]:
    """The store at this URL, or the user's own."""
    from longpipe.store import Store, default_url

    store = Store(_chosen(url) or default_url(), readonly=readonly, create=create)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def opened_if_wanted(url: str | None, *, no_store: bool) -> Iterator[Store]:
    """The store at this URL or the user's own; one in memory with `no_store`, or if the user can't have one."""
    from longpipe.store import Store, default_url

    if no_store and url is not None:
        raise ScenarioError("--no-store: not with --store; needs one of them")
    chosen = _chosen(url)
    try:
        store = Store(None if no_store else chosen or default_url())
    except ScenarioError as error:
        if chosen is not None:
            raise
        typer.echo(f"note: {error}; nothing is kept", err=True)
        store = Store()
    try:
        yield store
    finally:
        store.close()


@contextmanager
def repeatable(store: Store) -> Iterator[None]:
    """Has an interruption, or a SIGTERM, of runs that are no study tell how to go on."""
    try:
        with terminable():
            yield
    except KeyboardInterrupt as end:
        typer.echo(f"{store.count()} finished runs are in {store.name}; the same command goes on from there", err=True)
        _end(end)


@contextmanager
def resumable(study: Study) -> Iterator[None]:
    """Has an interruption, or a SIGTERM, of a study tell how to go on."""
    try:
        with terminable():
            yield
    except KeyboardInterrupt as end:
        finished = study.status().finished
        # What was typed, for its outputs are still to come.
        command = shlex.join(["longpipe", *sys.argv[1:]])
        typer.echo(f"{finished} finished runs are stored; go on with: {command}", err=True)
        _end(end)


def _end(end: KeyboardInterrupt) -> NoReturn:
    """Ends the command; Typer has a status for Ctrl-C alone."""
    if isinstance(end, TerminatedError):
        raise typer.Exit(TERMINATED) from None
    raise end
