"""The option --store of every command that has one, and what is done with it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

# The database takes half a second to load; commands that don't need it need not wait for it.
if TYPE_CHECKING:
    from longpipe.store import Store
    from longpipe.study import Study

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="Where runs are kept: a file, sqlite:///FILE or postgresql://... [default: a file of yours]",
        envvar="LONGPIPE_STORE",
        show_default=False,
    ),
]


@contextmanager
def opened(url: str | None, *, readonly: bool = False) -> Iterator[Store]:
    """The store at this URL, or the user's own."""
    from longpipe.store import Store, default_url

    store = Store(default_url() if url is None else url, readonly=readonly)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def resumable(study: Study) -> Iterator[None]:
    """Has an interruption tell how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        finished = study.status().finished
        command = shlex.join(["longpipe", "study", "run", study.name, "--store", study.store.url])
        typer.echo(f"{finished} finished runs are stored; go on with: {command}", err=True)
        raise
