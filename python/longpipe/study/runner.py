"""Where runs are kept, and who does them."""

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
    """A store, and how what it lacks is run: all that `complete_study` takes besides the runs."""

    store: Store
    executor: Where = None
    workers: int | None = None
    fresh: bool = False
    progress: Callable[[Progress], None] = ignore
    memory: str | None = None

    def telling(self, progress: Callable[[Progress], None]) -> Self:
        """The same, with someone else told how far it is."""
        return replace(self, progress=progress)

    def complete(self, jobs: Iterable[Job]) -> None:
        """Runs what the store lacks of them; errors are those of `complete_study`."""
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
        """A run that is complete."""
        return self.store.require(scenario, seed)
