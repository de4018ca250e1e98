"""Generates a page for each public module or package of longpipe, documented by autodoc, and a page that lists them."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Final

import longpipe

# Modules without a page: the command line has its own page, except for the building blocks of commands, and the core is
# internal.
INTERNAL: Final = ("__main__", "_core", "cli")
TOOLKIT: Final = "cli.toolkit"


def pages() -> dict[str, str]:
    """Returns a page for each module or package, and a page that lists them, by file name."""
    documented = {name: text for name in public() if (text := _page(name))}
    listed = [f"# Python\n\n{_automodule(longpipe, set())}", "```{toctree}", *documented, "```", ""]
    return {"python.md": "\n".join(listed)} | {f"{name}.md": text for name, text in documented.items()}


def public() -> list[str]:
    """Returns the names, without "longpipe.", of the modules and packages that are documented with their submodules."""
    names = [found.name for found in pkgutil.iter_modules(longpipe.__path__)]
    return [TOOLKIT, *(name for name in names if name not in INTERNAL)]


def _page(name: str) -> str:
    """Returns the page of a module and its submodules.

    Each member is documented once: where it is exported, or otherwise where it is defined.
    """
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
            # The module is an adapter for a library that is not installed, such as stable-baselines3.
            if (error.name or "").startswith(longpipe.__name__):
                raise
            continue
        yield module


def _members(module: ModuleType) -> set[str]:
    """Returns the names of the public classes and functions that a module defines."""
    return {
        name
        for name, member in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(member) or inspect.isfunction(member))
        and member.__module__ == module.__name__
    }


def _automodule(module: ModuleType, hidden: set[str]) -> str:
    lines = [f".. automodule:: {module.__name__}", "   :members:"]
    # Matplotlib generates a `set` method for every class of figures. Its docstring has links to Matplotlib's own pages.
    lines += [f"   :exclude-members: {', '.join(sorted({*hidden, 'set'}))}"]
    # If a package exports a function with the name of its module, the name refers to the function.
    package, _, name = module.__name__.rpartition(".")
    lines += ["   :no-index:"] if package and getattr(importlib.import_module(package), name) is not module else []
    return "\n".join(["```{eval-rst}", *lines, "```", ""])
