"""A page for each public module or package of longpipe, documented by autodoc, and the page that lists them."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Final

import longpipe

# The command line has its own page; papers are reproduced from there, and these are their parts.
INTERNAL: Final = ("__main__", "_core", "cli", "deferred", "files", "papers", "plot")


def pages() -> dict[str, str]:
    """A page for each module or package, by file name, and one that lists them."""
    names = [found.name for found in pkgutil.iter_modules(longpipe.__path__)]
    documented = {name: text for name in names if not name.startswith(INTERNAL) and (text := _page(name))}
    listed = [f"# Python\n\n{_automodule(longpipe, set())}", "```{toctree}", *documented, "```", ""]
    return {"python.md": "\n".join(listed)} | {f"{name}.md": text for name, text in documented.items()}


def _page(name: str) -> str:
    """Members of a module and its submodules, each once: where it is exported, else where it is defined."""
    known, parts = set(longpipe.__all__), []
    package = importlib.import_module(f"longpipe.{name}")
    for module in (package, *_below(package)):
        offered = set(getattr(module, "__all__", _members(module)))
        if module is package or offered - known:
            depth = "#" if module is package else "##"
            parts.append(f"{depth} {module.__name__}\n\n{_automodule(module, offered & known)}")
        known |= offered
    return "\n".join(parts) if known != set(longpipe.__all__) else ""


def _below(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
        try:
            module = importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            # An adapter for a library that is not installed, such as stable-baselines3.
            if (error.name or "").startswith(longpipe.__name__):
                raise
            continue
        yield module


def _members(module: ModuleType) -> set[str]:
    """Names of the public classes and functions that a module defines."""
    return {
        name
        for name, member in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(member) or inspect.isfunction(member))
        and member.__module__ == module.__name__
    }


def _automodule(module: ModuleType, hidden: set[str]) -> str:
    lines = [f".. automodule:: {module.__name__}", "   :members:"]
    # Matplotlib gives every kind of figure a `set` of its own, in words that only its own pages know.
    lines += [f"   :exclude-members: {', '.join(sorted({*hidden, 'set'}))}"]
    # A function that its package exports under the module's name is what that name means there.
    package, _, name = module.__name__.rpartition(".")
    lines += ["   :no-index:"] if package and getattr(importlib.import_module(package), name) is not module else []
    return "\n".join(["```{eval-rst}", *lines, "```", ""])
