"""A store together with an executor."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self

from longpipe.executors import Job, Where
from longpipe.result import Result
from longpipe.scenario import Scenario
from longpipe.store import Store
from longpipe.study.completion import complete_study
from longpipe.study.progress import Progress, ignore


@dataclass(frozen=True)
class Runner:
    """A store and settings for missing runs: the arguments of `complete_study` except the runs."""

    store: Store
    executor: Where = None
    workers: int | None = None
    fresh: bool = False
    progress: Callable[[Progress], None] = ignore
    memory: str | None = None

    def telling(self, progress: Callable[[Progress], None]) -> Self:
        """Returns a copy with a different progress callback."""
        return replace(self, progress=progress)

    def complete(self, jobs: Iterable[Job]) -> None:
        """Runs the missing runs; see `complete_study` for errors."""
        complete_study(
            jobs,
            self.store,
            executor=self.executor,
            workers=self.workers,
            memory=self.memory,
            fresh=self.fresh,
            progress=self.progress,
        )

    def require(self, scenario: Scenario, seed: int) -> Result:
        """Returns a stored run."""
        return self.store.require(scenario, seed)
