"""Names that a package offers, whose modules are loaded when one of them is first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def deferred(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, by the module in which each name is defined."""
    names = vars(sys.modules[package])

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name])
        # A module of the package by its own name, or what a module defines.
        found = names[name] = home if homes[name] == f"{package}.{name}" else getattr(home, name)
        return found

    def offered() -> list[str]:
        return sorted({*names, *homes})

    return find, offered
