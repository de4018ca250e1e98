"""Lazy imports: names of a package whose modules are imported on first use."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_attributes(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` of a package, given the module of each name."""
    names = vars(sys.modules[package])

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name])
        # The name is a submodule itself, or an attribute of a submodule.
        attribute = names[name] = home if homes[name] == f"{package}.{name}" else getattr(home, name)
        return attribute

    def offered() -> list[str]:
        return sorted({*names, *homes})

    return find, offered
