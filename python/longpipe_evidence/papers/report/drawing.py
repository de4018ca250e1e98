"""Draws figures in separate processes, because Matplotlib takes 30 MB and leaks memory with every figure."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Final

from longpipe.executors.processes import context, starting
from longpipe.system.memory import cores

# Loading Matplotlib takes as long as drawing a figure, so more processes would gain little.
MOST: Final = 2

Drawn = list[tuple[int, list[str]]]


def draw(module: str, function: str, subject: object, directory: Path) -> list[str]:
    """Saves the figures that a module's `function` returns for `subject` (a dict by file stem) as PNG and SVG.

    Returns the names of the files, in the order of the figures. Errors of the processes are raised here.
    """
    count = min(MOST, cores())
    with ProcessPoolExecutor(count, mp_context=context()) as pool:
        with starting():
            shares = [pool.submit(_share, module, function, subject, directory, i, count) for i in range(count)]
        return list(_in_order(drawn for share in shares for drawn in share.result()))


def _in_order(drawn: Iterator[tuple[int, list[str]]]) -> Iterator[str]:
    for _, names in sorted(drawn):
        yield from names


def _share(module: str, function: str, subject: object, directory: Path, first: int, step: int) -> Drawn:
    """Draws every `step`-th figure, starting with `first`, in a worker; returns their indices and files."""
    from longpipe.pictures.saving import save

    figures = getattr(import_module(module), function)(subject)
    chosen = list(enumerate(figures.items()))[first::step]
    return [(place, [path.name for path in save(figure, directory / name)]) for place, (name, figure) in chosen]
