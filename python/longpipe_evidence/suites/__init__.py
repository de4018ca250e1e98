"""Evaluation suites that documents define. Each is a module with a list of designs, and an entry in IDS."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from longpipe_evidence.suites.suite import Suite

# Ids in the order in which they are listed; the module of "rfc-7928" is `rfc_7928`.
IDS: Final = ("rfc-7928", "tcpeval", "rfc-9743", "rfc-8867", "bbr-draft")


class _Suites(Mapping[str, "Suite"]):
    """Suites by id, loaded on first access."""

    def __getitem__(self, suite: str) -> "Suite":
        if suite not in IDS:
            raise KeyError(suite)
        declared: Suite = import_module(f"{__name__}.{suite.replace('-', '_')}").SUITE
        return declared

    def __iter__(self) -> Iterator[str]:
        return iter(IDS)

    def __len__(self) -> int:
        return len(IDS)


SUITES: Final = _Suites()

__all__ = ["IDS", "SUITES"]
