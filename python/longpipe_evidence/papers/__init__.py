"""Published results and the experiments that reproduce them: a paper is a folder with a PAPER, and an id in IDS."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from longpipe.executors import Where
    from longpipe.store import Store
    from longpipe_evidence.papers.paper import Findings, Paper

# Ids in the order of listings.
IDS: Final = (
    "frr-96",
    "gr-97",
    "buf-97",
    "www-98",
    "lbd-01",
    "rfc-9438",
    "hypatia-20",
    "prague-24",
)
# The five documents on which longpipe was founded, whose statements are listed.
FOUNDING: Final = IDS[:5]


def package_of(paper: str) -> str:
    """Returns the package of a paper by its id."""
    return f"{__name__}.{paper.replace('-', '_')}"


class _Papers(Mapping[str, "Paper"]):
    """Papers by id, each loaded on first use, because pandas and SciPy take a second to load."""

    def __getitem__(self, paper: str) -> "Paper":
        if paper not in IDS:
            raise KeyError(paper)
        declared: Paper = import_module(package_of(paper)).PAPER
        return declared

    def __iter__(self) -> Iterator[str]:
        return iter(IDS)

    def __len__(self) -> int:
        return len(IDS)


PAPERS: Final = _Papers()


def reproduce(
    paper: str,
    seeds: int | None = None,
    *,
    table: int | None = None,
    store: "Store | str | Path | None" = None,
    executor: "Where" = None,
    workers: int | None = None,
) -> "Findings":
    """Simulates a paper's experiments, by its id: `reproduce("frr-96", seeds=3).tables["Table 1"]`.

    `seeds` is the number of replications, by default the paper's own; `table` selects a single table by its number.
    `store` (default: memory) stores runs, and runs that it contains are not repeated: a file, or
    `longpipe.store.default_url()`, the store of the commands. `executor` and `workers` are the arguments of
    `Study.run`. Raises ScenarioError for an unknown paper or table.
    """
    from longpipe.errors import ScenarioError, nearest
    from longpipe.store import Store
    from longpipe.study import Runner

    if paper not in IDS:
        raise ScenarioError(f"paper: {paper!r}; {nearest(paper, IDS)}")
    chosen = PAPERS[paper] if table is None else PAPERS[paper].only(table)
    kept = store if isinstance(store, Store) else Store(store)
    return chosen.reproduce(seeds or chosen.seeds or 1, Runner(kept, executor, workers))


__all__ = ["IDS", "PAPERS", "reproduce"]
