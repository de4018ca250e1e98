"""A design, a store and a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from longpipe.errors import ScenarioError
from longpipe.store import Store, engine_version, studies
from longpipe.study.progress import Progress, ignore

# Who asks for the status of a study need not wait for what runs it.
if TYPE_CHECKING:
    import pandas as pd

    from longpipe.design import Design
    from longpipe.executors import Where
    from longpipe.result import Result
    from longpipe.scenario import Scenario

    Measure = Callable[[Result], Mapping[str, float]]

LONGEST_NAME: Final = 200


@dataclass(frozen=True)
class Status:
    """How far a study is: numbers of runs in all and by state, the engine version they are of, and times (UTC)."""

    name: str
    runs: int
    finished: int
    running: int
    failed: int
    waiting: int
    engine: str
    created_at: datetime
    changed_at: datetime

    @property
    def complete(self) -> bool:
        """Whether every run is finished."""
        return self.finished == self.runs


class Study:
    """A campaign by name: it can be run, stopped, run on, grown and inspected, here or by another process.

    `store` is a Store, or what one is opened with; None is memory. The name is that of the design's base scenario if
    none is given. A study only grows: a design with more replications or levels under a name adds runs to those it has,
    one with fewer changes nothing, and any other is refused, ScenarioError telling what is different.
    """

    # The record's design, once it was asked for.
    _read: Design | None = None

    def __init__(self, design: Design, store: Store | str | Path | None = None, name: str | None = None) -> None:
        self.name = design.base.name if name is None else name
        if not 0 < len(self.name.strip()) <= LONGEST_NAME:
            raise ScenarioError(f"study: {self.name!r}; needs a name of 1 to {LONGEST_NAME} characters")
        self.store = store if isinstance(store, Store) else Store(store)
        record = studies.find(self.store, self.name)
        if record is None:
            self._put(design)
        else:
            self._load(record)
            self._become(design)

    @classmethod
    def open(cls, name: str, store: Store | str | Path) -> Self:
        """The study with this name in a store, which may be read-only; ScenarioError names those there are."""
        study = cls.__new__(cls)
        study.name = name
        study.store = store if isinstance(store, Store) else Store(store)
        study._load(studies.require(study.store, name))
        return study

    @property
    def design(self) -> Design:
        """All points and replications."""
        if self._read is None:
            from longpipe.design.text import from_json

            self._read = from_json(self._record.design)
        return self._read

    @property
    def engine(self) -> str:
        """The engine version that its runs are of: that of the longpipe which ran it last."""
        return self._record.engine

    def scenarios(self) -> list[Scenario]:
        """The scenario of each point."""
        return list(self.design.scenarios)

    def run(
        self,
        executor: Where = None,
        *,
        workers: int | None = None,
        fresh: bool = False,
        progress: Callable[[Progress], None] = ignore,
    ) -> Status:
        """Runs what is not finished, or with `fresh` everything; see `complete_study` for the arguments and errors.

        After an interruption the same call goes on from there. Another engine version than the last begins anew.
        """
        if self.engine != engine_version():
            self._put(self.design)
        # It loads what runs studies.
        from longpipe.study.campaign import complete_study

        scenarios = self.design.scenarios
        jobs = ((scenarios[run.point - 1], run.seed) for run in self.design.runs())
        complete_study(jobs, self.store, executor=executor, workers=workers, fresh=fresh, progress=progress)
        return self.status()

    def grow(self, replications: int) -> Self:
        """Asks for so many replications of each point; ScenarioError for fewer than there are."""
        if replications < self.design.replications:
            raise ScenarioError(f"replications: {replications}; needs at least the {self.design.replications} it has")
        if replications > self.design.replications:
            self._put(replace(self.design, replications=replications))
        return self

    def status(self) -> Status:
        """How far it is, whoever runs it."""
        counts = studies.counts(self.store, self._record)
        return Status(
            name=self.name,
            runs=sum(counts.values()),
            finished=counts["finished"],
            running=counts["running"],
            failed=counts["failed"],
            waiting=counts["waiting"],
            engine=self.engine,
            created_at=self._record.created_at,
            changed_at=self._record.changed_at,
        )

    def runs(self, *, finished_only: bool = False) -> pd.DataFrame:
        """A row for every run, finished or not, and how it went: see `store.studies.runs`."""
        import pandas as pd

        return pd.DataFrame(self.columns(finished_only=finished_only))

    def columns(self, *, finished_only: bool = False) -> dict[str, list[Any]]:
        """What `runs` is made of, without pandas."""
        return studies.runs(self.store, self._record, finished_only=finished_only)

    def frame(self, measure: Measure | None = None) -> pd.DataFrame:
        """A row per finished run: `point`, `block` (if there are any), the factors, `replication`, `seed`, measures.

        These are what `analysis.measures.measure` gives, or else what `measure` gives of each result.
        """
        frame = self.runs(finished_only=True).drop(columns=list(studies.PROVENANCE))
        if measure is None:
            return frame
        import pandas as pd

        heads = ["point", *self.design.levels(1), "replication", "seed"]
        measured = pd.DataFrame([dict(measure(result)) for result in self._results(frame)])
        return pd.concat([frame[heads], measured], axis="columns")

    def results(self) -> Iterator[Result]:
        """The finished runs with all that is stored of them, in the order of the rows of `frame`."""
        return self._results(self.columns(finished_only=True))

    def close(self) -> None:
        """Gives the store back."""
        self.store.close()

    def _results(self, runs: Mapping[str, Any] | pd.DataFrame) -> Iterator[Result]:
        scenarios = self.design.scenarios
        for point, seed in zip(runs["point"], runs["seed"], strict=True):
            yield self.store.require(scenarios[point - 1], int(seed), engine=self.engine)

    def _become(self, design: Design) -> None:
        """Takes on a design that has all runs of this one."""
        from longpipe.design.text import differences, to_json

        lost = differences(self.design, design)
        if lost and differences(design, self.design):
            needs = f"needs the design of study {self.name!r} in {self.store.name}, more of it, or another name"
            raise ScenarioError(*(f"{line}; {needs}" for line in lost))
        if not lost and to_json(design) != self._record.design:
            self._put(design)

    def _put(self, design: Design) -> None:
        from longpipe.design.text import to_json

        points = [(scenario, design.levels(i)) for i, scenario in enumerate(design.scenarios, 1)]
        runs = ((run.point, run.replication, run.seed) for run in design.runs())
        studies.put(self.store, self.name, to_json(design), points, runs)
        self._load(studies.require(self.store, self.name))

    def _load(self, record: studies.StudyRecord) -> None:
        self._record = record
        self._read = None
