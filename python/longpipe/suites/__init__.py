"""Suites of scenarios that documents name, each a list of designs: a module, and a line in IDS."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from longpipe.suites.suite import Suite

# In the order in which they are listed; "rfc-7928" is the module `rfc_7928`.
IDS: Final = ("rfc-7928", "tcpeval")


class _Suites(Mapping[str, "Suite"]):
    """Suites by id, each loaded when it is asked for."""

    def __getitem__(self, suite: str) -> "Suite":
        if suite not in IDS:
            raise KeyError(suite)
        found: Suite = import_module(f"{__name__}.{suite.replace('-', '_')}").SUITE
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(IDS)

    def __len__(self) -> int:
        return len(IDS)


SUITES: Final = _Suites()

__all__ = ["IDS", "SUITES"]
