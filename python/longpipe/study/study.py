"""A study: a design, a store and a name."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from longpipe.errors import ScenarioError, check_kind, nearest
from longpipe.store import Store, engine_version, studies
from longpipe.store.address import default_url
from longpipe.store.scenarios import stored_scenarios
from longpipe.study.progress import Progress, ignore
from longpipe.user_code.trust import UntrustedCodeError, UntrustedCodeWarning, granting, named_by_store

# Import for type checking only, because executing runs needs modules that take a second to load.
if TYPE_CHECKING:
    import pandas as pd

    from longpipe.design import Design
    from longpipe.executors import Where
    from longpipe.measures.measure import Specification
    from longpipe.result import Result
    from longpipe.scenario import Scenario
    from longpipe.study.changes import Change

    # Returns all measures of a result.
    Measuring = Callable[[Result], Mapping[str, float]]

LONGEST_NAME: Final = 200
# Suffixes of SQLite files.
STORES: Final = (".db", ".sqlite", ".sqlite3")


@dataclass(frozen=True)
class Status:
    """Status of a study: numbers of runs in total and by state, their engine, and times (UTC).

    A process claims the runs that it executes at present (`executing`) or within a few seconds (`claimed`).
    """

    name: str
    runs: int
    finished: int
    executing: int
    claimed: int
    failed: int
    waiting: int
    engine: str
    created_at: datetime
    changed_at: datetime

    @property
    def complete(self) -> bool:
        """Returns whether every run is finished."""
        return self.finished == self.runs

    def __str__(self) -> str:
        """Returns the numbers of runs in one line."""
        states = ("executing", "claimed", "waiting", "failed")
        unfinished = [f"{count} {state}" for state in states if (count := getattr(self, state))]
        return ", ".join([f"{self.finished} of {self.runs} runs finished", *unfinished])


class Study:
    """A named campaign that can be run, stopped, resumed, extended and inspected, here or by another process.

    `store` is a Store or the argument that opens one; None means memory. The default name is that of the design's base
    scenario. A study can only be extended: a design with more replications or levels under its name adds runs, and a
    design with fewer changes nothing. Any other design raises ScenarioError, which lists the differences. If a file,
    class or program to which points refer has changed, their runs wait again, and a ChangedInputWarning names it.
    """

    # The design, for a stored study read on first use.
    _read: Design | None = None

    def __init__(self, design: Design, store: Store | str | Path | None = None, name: str | None = None) -> None:
        # Imported here so that commands that open studies start faster.
        from longpipe.design import Design

        check_kind(
            "design", design, Design, "a Design, as from Design.full_factorial; Study.open('NAME', store) opens one"
        )
        if name is not None:
            _check_order(name, store, "Study(design, store, 'NAME')")
        self.name = design.base.name if name is None else name
        check_kind("study", self.name, str, "a name")
        if not 0 < len(self.name.strip()) <= LONGEST_NAME:
            raise ScenarioError(f"study: {self.name!r}; needs a name of 1 to {LONGEST_NAME} characters")
        # Code that the user names is trusted when it is loaded here, before the study is a stored one.
        _ = design.scenarios
        self.store = store if isinstance(store, Store) else Store(store)
        record = studies.find(self.store, self.name)
        if record is None:
            self._put(design)
        else:
            self._load(record)
            self._become(design)

    def __repr__(self) -> str:
        """Shows the progress, the store and the design."""
        return f"Study {self.name!r}: {self.status()}; store: {self.store.name}\n{self.design!r}"

    def _repr_html_(self) -> str:
        """Shows the progress as a bar, and the design, for notebooks."""
        from longpipe.notebook import paragraph

        status = self.status()
        bar = f'<progress value="{status.finished}" max="{max(status.runs, 1)}"></progress>'
        return paragraph(repr(self).split("\n")[:1]) + bar + self.design._repr_html_()

    @classmethod
    def open(cls, name: str, store: Store | str | Path | None = None) -> Self:
        """Opens the study with this name in a store, which may be read-only.

        The default store is that of the commands without `--store`: `longpipe.store.default_url()`.
        If there is no such study, ScenarioError lists the studies of the store.
        """
        store = default_url() if store is None else store
        _check_order(name, store, "Study.open('NAME', store)")
        study = cls.__new__(cls)
        study.name = name
        study.store = store if isinstance(store, Store) else Store(store, create=False)
        study._load(studies.require(study.store, name))
        return study

    @property
    def design(self) -> Design:
        """All points and replications, of a stored study with the scenarios as they were stored."""
        if self._read is None:
            from longpipe.design.text import base_of, from_json
            from longpipe.scenario.digests import as_stored

            fields, digest = base_of(self._record.design)
            base = None
            if digest is not None:
                base = stored_scenarios(self.store, {digest: fields["name"]}, {digest: fields})[digest]
            with as_stored(), named_by_store():
                self._read = replace(from_json(self._record.design, base), stored=self._stored_scenarios)
                _ = self._read.asked
        return self._read

    @property
    def engine(self) -> str:
        """The engine of the study's latest runs."""
        return self._record.engine

    def scenarios(self) -> list[Scenario]:
        """The scenario of each point."""
        return list(self.design.scenarios)

    def trust(self) -> list[str]:
        """Trusts the present content of the code that the study names: classes, modules, programs and measures.

        Returns the names of code that was not trusted before. From now on it runs with the rights of the user.
        """
        with granting() as granted:
            for measure in self._present_design(self.design.measures).asked:
                measure.check(self.design.base)
        return granted

    def run(
        self,
        executor: Where = None,
        *,
        workers: int | None = None,
        memory: str | None = None,
        fresh: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Status:
        """Runs all unfinished runs, or with `fresh` all runs; see `complete_study` for the arguments and errors.

        In a notebook without `progress`, a bar is shown. The same call continues after an interruption. If the engine
        differs from that of the last runs, all runs are repeated; if a file has changed, those of its points (`renew`).
        """
        self.renew()
        if self.engine != engine_version():
            self._put(self.design)
        # Imported here because these modules take a second to load.
        from longpipe.notebook import Bar, in_notebook
        from longpipe.study.completion import complete_study

        scenarios = self.design.scenarios
        # The first runs are of all points, so that the remaining time follows from all of them.
        if fresh:
            planned = sorted(self.design.runs(), key=lambda run: run.replication)
            runs = [(run.point, run.replication, run.seed) for run in planned]
        else:
            runs = studies.missing(self.store, self._record)
        jobs = ((scenarios[point - 1], seed) for point, _, seed in runs)
        finished = self._record.runs - len(runs)
        with Bar(self.name) as bar:
            tell = progress or (bar.update_runs if in_notebook() else ignore)
            try:
                complete_study(
                    jobs,
                    self.store,
                    executor=executor,
                    workers=workers,
                    memory=memory,
                    fresh=fresh,
                    finished=finished,
                    progress=tell,
                )
            except KeyboardInterrupt as end:
                end.add_note(self._interrupted())
                raise
        return self.status()

    @named_by_store()
    def renew(self) -> Self:
        """Adopts the present content of the files, classes and programs to which the points refer; `run` calls this.

        Runs of points that have changed wait again, and a ChangedInputWarning names what has changed. The earlier runs
        stay in the store, and belong to the study again if the earlier content is restored.
        """
        self._load(studies.require(self.store, self.name))
        self._adopt(self._present_design(self.design.measures))
        return self

    @named_by_store()
    def changes(self) -> list[Change]:
        """Returns the files, classes and programs that have changed since the runs; `renew` adopts the changes.

        Raises ScenarioError if one of them cannot be read.
        """
        from longpipe.design.text import from_json
        from longpipe.scenario.digests import renewed

        stored = dict(zip(self.design.points, self._digests(), strict=True))
        # Every level is in at least one of these points.
        points = {(i, level): point for point in stored for i, level in enumerate(point)}.values()
        with renewed():
            design = from_json(self._record.design)
            return self._changes({stored[point]: design.scenario(point) for point in dict.fromkeys(points)})

    def _interrupted(self) -> str:
        status = self.status()
        progress = f"{status.finished} of {status.runs} runs finished and kept (store: {self.store.name})"
        return f"study {self.name!r}: {progress}; the same call continues"

    @named_by_store()
    def grow(self, replications: int) -> Self:
        """Increases the number of replications per point; raises ScenarioError if there are already more."""
        if replications < self.design.replications:
            raise ScenarioError(
                f"replications: {replications}; needs at least {self.design.replications}, the present number"
            )
        if replications > self.design.replications:
            self._put(self._with(replications=replications))
        return self

    def ask(self, *measures: Specification) -> Self:
        """Adds measures of each run to the requested ones: see `Design.measures`."""
        # Loads functions that the user names, before they are measures of a store.
        _ = replace(self.design, measures=measures).scenarios
        self._put(self._with(measures=_merged(self.design, replace(self.design, measures=measures))))
        return self

    def resolve(self, what: Specification) -> tuple[Self, str]:
        """Returns the column of a measure, and the study that has it: this one, or one in memory that requests it.

        `what` is a column, or anything that `Design.measures` takes, which may use requested measures by name. Raises
        ScenarioError for text that cannot be read, and for a name that another measure has.
        """
        from longpipe.measures.functions import FunctionMeasure
        from longpipe.measures.measure import parse
        from longpipe.measures.readable import column_of

        measures = self.design.asked
        if isinstance(what, str) and (what.isidentifier() or any(measure.name == what for measure in measures)):
            return self, column_of(what, measures)
        parsed = parse(what, measures)
        same = next((str(measure) for measure in measures if measure.name == parsed.name), None)
        if same not in (None, str(parsed)):
            raise ScenarioError(f"measure: {parsed.name!r} is {same} in {self.name!r}; needs another name")
        study = copy(self)
        if same is None:
            if isinstance(parsed, FunctionMeasure):
                parsed.check(self.design.base)
            study._read = self._with(measures=(*self.design.measures, str(parsed)))
        return study, parsed.name

    def _resolved(self, names: Sequence[str]) -> tuple[Self, list[str]]:
        """Returns the columns of measures and the study that has them, as `resolve` does for one measure."""
        study, columns = self, []
        for name in names:
            study, column = study.resolve(name)
            columns.append(column)
        return study, columns

    @named_by_store()
    def drop(self, *names: str) -> Self:
        """Removes requested measures, by name; runs are kept. Raises ScenarioError for one that was not requested."""
        texts_by_name = {measure.name: str(measure) for measure in self.design.asked}
        for name in names:
            if name not in texts_by_name:
                accepted = nearest(name, texts_by_name) if texts_by_name else "it has none that can be removed"
                raise ScenarioError(f"measure: {name!r}; {accepted}")
        self._put(self._with(measures=tuple(text for name, text in texts_by_name.items() if name not in names)))
        return self

    def status(self) -> Status:
        """Returns the progress, including runs of other processes."""
        counts = studies.counts(self.store, self._record)
        return Status(
            name=self.name,
            runs=sum(counts.values()),
            finished=counts["finished"],
            executing=counts["executing"],
            claimed=counts["claimed"],
            failed=counts["failed"],
            waiting=counts["waiting"],
            engine=self.engine,
            created_at=self._record.created_at,
            changed_at=self._record.changed_at,
        )

    def left_behind(self) -> dict[str, int]:
        """Returns the number of runs that only other engines finished, by engine; their results may differ."""
        return studies.left_behind(self.store, self._record)

    def runs(self, *, finished_only: bool = False) -> pd.DataFrame:
        """Returns a row for every run with its state: see `store.studies.runs`.

        Measures that the design requests by name precede those of every run; they are nan if a run is not finished.
        """
        import pandas as pd

        return pd.DataFrame(self.columns(finished_only=finished_only))

    def columns(self, *, finished_only: bool = False) -> dict[str, list[Any]]:
        """Returns the columns of `runs`, without pandas."""
        stored = studies.runs(self.store, self._record, finished_only=finished_only)
        measures = self.design.asked
        if not measures:
            return stored
        from longpipe.measures.measure import is_of_columns, of_columns

        heads = ["point", *self.design.levels(1), "replication", "seed"]
        columns = {name: values for name, values in stored.items() if name not in heads}
        of_run = {measure.name: [math.nan] * len(stored["state"]) for measure in measures}
        # The results are needed only for measures that are not expressions of known columns.
        if read := [measure for measure in measures if not is_of_columns(measure, columns.keys() | of_run.keys())]:
            done = [i for i, state in enumerate(stored["state"]) if state == "finished"]
            finished = {name: [stored[name][i] for i in done] for name in ("point", "seed", "digest")}
            for i, result in zip(done, self._results(finished), strict=True):
                for measure in list(read):
                    try:
                        of_run[measure.name][i] = measure(result)
                    except UntrustedCodeError as error:
                        warnings.warn(f"measure {measure.name!r}: no values; {error}", UntrustedCodeWarning, 2)
                        read.remove(measure)
        for measure in measures:
            if is_of_columns(measure, columns.keys() | of_run.keys()):
                of_run[measure.name] = of_columns(measure, columns | of_run).tolist()
        # Insert after the levels and the seed, before the columns of every run.
        of_all = {name: values for name, values in stored.items() if name not in (*heads, *of_run)}
        return {**{name: stored[name] for name in heads}, **of_run, **of_all}

    def frame(self, measure: Measuring | None = None) -> pd.DataFrame:
        """Returns a row per finished run: `point`, `block` (if any), the factors, `replication`, `seed`, measures.

        The measures are those of `measures.defaults.measure`, or those that `measure` returns for each result.
        """
        runs = self.runs(finished_only=True)
        if measure is None:
            return runs.drop(columns=list(studies.PROVENANCE))
        import pandas as pd

        heads = ["point", *self.design.levels(1), "replication", "seed"]
        measured = pd.DataFrame([dict(measure(result)) for result in self._results(runs)])
        return pd.concat([runs[heads], measured], axis="columns")

    def limits(self) -> pd.DataFrame:
        """Returns each flow's limit in each finished run: `point`, factors, `replication`, `seed`, `Result.limits`."""
        import pandas as pd

        runs = self.runs(finished_only=True)
        heads = ["point", *self.design.levels(1), "replication", "seed"]
        parts = [
            result.limits.assign(**{name: row[name] for name in heads})
            for row, result in zip(runs[heads].to_dict("records"), self._results(runs), strict=True)
        ]
        if not parts:
            return pd.DataFrame(columns=heads)
        whole = pd.concat(parts, ignore_index=True)
        return whole[[*heads, *whole.columns.drop(heads)]]

    def means(self, *names: str, level: float = 0.95, measure: Measuring | None = None) -> pd.DataFrame:
        """Returns a row per point with finished runs: `point`, factors, `runs`, mean and interval of each measure.

        For a measure `x` these are `x`, `x_low` and `x_high`, which contain the true mean with confidence `level` (0 to
        1; Student's t), and are nan for a single run. If `names` is given, the table contains only these measures; they
        may be expressions and anything else that `Design.measures` takes, and `throughput` means `throughput_bps`.
        `measure` is as `frame` takes it. Raises ScenarioError for an invalid level, and for a name that is not
        measured.
        """
        import pandas as pd

        from longpipe.analysis.factors import check_level
        from longpipe.analysis.intervals import estimate

        check_level(level)
        rows = []
        for row, values in self._points(names, measure):
            for name, of_runs in values.items():
                mean = estimate(of_runs, level=level)
                row |= {name: mean.mean, f"{name}_low": mean.mean_low, f"{name}_high": mean.mean_high}
            rows.append(row)
        return pd.DataFrame(rows)

    def quantiles(self, *names: str, share: float = 0.5, level: float = 0.95) -> pd.DataFrame:
        """Returns a row per point with finished runs: `point`, the factors, `runs`, and a quantile of each measure.

        For a measure `x` these are `x`, `x_low` and `x_high`; the interval of order statistics contains the true
        quantile with confidence `level`, for any distribution. `call.p95` has one value per replication, the 95th
        percentile of its packets. Values of different replications are independent, whereas packets of one replication
        are not. If there are too few replications, raises ScenarioError, which names the measure and the minimum
        number.
        """
        import pandas as pd

        from longpipe.analysis.factors import check_level
        from longpipe.analysis.quantile_intervals import quantile_interval

        for fraction in (share, level):
            check_level(fraction)
        rows = []
        for row, values in self._points(names):
            for name, of_runs in values.items():
                interval = quantile_interval(name, of_runs, share, level)
                row |= dict(zip((name, f"{name}_low", f"{name}_high"), interval, strict=True))
            rows.append(row)
        return pd.DataFrame(rows)

    def _points(
        self, names: Sequence[str], measure: Measuring | None = None
    ) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
        """Yields the point, levels and number of runs of each point with finished runs, and the values of its measures.

        See `means` for the arguments and errors.
        """
        if measure is None:
            study, requested = self._resolved(names)
            if (packed := study._packed_points(requested)) is not None:
                yield from packed
                return
            frame = study.frame()
        else:
            # Measures that the caller defines keep their names.
            frame, requested = self.frame(measure), list(names)
        heads = ["point", *self.design.levels(1)]
        measures = [name for name in frame.columns if name not in (*heads, "replication", "seed")]
        for name in requested:
            if name not in measures:
                raise ScenarioError(f"measure: {name!r}; {nearest(name, measures)}")
        for _, group in frame.groupby("point"):
            row = {**{name: group[name].iloc[0] for name in heads}, "runs": len(group)}
            yield row, {name: group[name] for name in requested or measures}

    def _packed_points(self, requested: Sequence[str]) -> list[tuple[dict[str, Any], dict[str, Any]]] | None:
        """Returns the points from the packed measures of runs; None if these are insufficient."""
        from longpipe.measures.measure import is_of_columns, of_columns

        if (by_point := studies.measures(self.store, self._record)) is None:
            return None
        measures = self.design.asked
        all_names = dict.fromkeys(
            [*(measure.name for measure in measures), *(name for _, values in by_point for name in values)]
        )
        points = []
        for number, (point, values) in enumerate(by_point, 1):
            if not values:
                continue
            (runs,) = next(iter(values.values())).shape
            columns = {name: of_runs for name, of_runs in values.items() if name not in point.levels}
            for measure in measures:
                if is_of_columns(measure, columns):
                    columns[measure.name] = of_columns(measure, columns)
            names = requested or [name for name in all_names if name not in point.levels]
            if not set(names) <= columns.keys():
                return None
            points.append(({"point": number, **point.levels, "runs": runs}, {name: columns[name] for name in names}))
        return points

    def results(self) -> Iterator[Result]:
        """Returns all stored results of the finished runs, in the order of the rows of `frame`."""
        return self._results(studies.runs(self.store, self._record, finished_only=True))

    def close(self) -> None:
        """Closes the store, if this object opened it."""
        self.store.close()

    def _results(self, runs: Mapping[str, Any] | pd.DataFrame) -> Iterator[Result]:
        """Returns the stored results of runs, of which the columns `point`, `seed` and `digest` are used."""
        by_digest = {scenario.digest(): scenario for scenario in self.design.scenarios}
        # Another process may have renewed the study.
        names = {
            digest: self.design.name_of(self.design.points[point - 1])
            for point, digest in zip(runs["point"], runs["digest"], strict=True)
            if digest not in by_digest
        }
        by_digest |= stored_scenarios(self.store, names)
        jobs = ((by_digest[digest], int(seed)) for digest, seed in zip(runs["digest"], runs["seed"], strict=True))
        return self.store.require_all(jobs, engine=self.engine)

    def _digests(self) -> list[str]:
        """Returns the stored digest of each point."""
        return studies.digests(self.store, self._record)

    @named_by_store()
    def _stored_scenarios(self, design: Design) -> list[Scenario]:
        """Returns the scenarios of the points as they were stored."""
        by_digest: dict[str, Scenario] = {}
        changed: dict[str, str] = {}
        digests = self._digests()
        for point, digest in zip(design.points, digests, strict=True):
            try:
                scenario = design.scenario(point)
            except ScenarioError:
                # A file is missing, or a class differs from the one that the fields identify.
                changed[digest] = design.name_of(point)
                continue
            if scenario.digest() == digest:
                by_digest[digest] = scenario
            else:
                changed[digest] = scenario.name
        by_digest |= stored_scenarios(self.store, changed)
        return [by_digest[digest] for digest in digests]

    @named_by_store()
    def _present_design(self, measures: Sequence[Specification]) -> Design:
        """Returns the stored design with the present content of files, and with these requested measures."""
        from longpipe.design.text import from_json
        from longpipe.scenario.digests import renewed

        with renewed():
            design = replace(from_json(self._record.design), measures=tuple(measures))
            _ = design.scenarios
        return design

    def _changes(self, scenarios: Mapping[str, Scenario]) -> list[Change]:
        """Returns the differences of scenarios from the stored ones, whose digests are the keys; one for each name."""
        from longpipe.study.changes import changes_between

        changed = {digest: scenario for digest, scenario in scenarios.items() if scenario.digest() != digest}
        stored = stored_scenarios(self.store, {digest: scenario.name for digest, scenario in changed.items()})
        changes: dict[str, Change] = {}
        for digest, scenario in changed.items():
            for change in changes_between(stored[digest], scenario):
                changes.setdefault(change.name, change)
        return list(changes.values())

    def _adopt(self, design: Design) -> None:
        """Takes over a design that contains all points of this one, and warns of changes since the runs."""
        from longpipe.design.text import to_json

        present = dict(zip(design.points, design.scenarios, strict=True))
        scenarios = {digest: present[point] for point, digest in zip(self.design.points, self._digests(), strict=True)}
        if changes := self._changes(scenarios):
            from longpipe.study.changes import warn_of_changes

            count = sum(scenario.digest() != digest for digest, scenario in scenarios.items())
            warn_of_changes(self.name, changes, count, len(scenarios))
        if changes or to_json(design) != self._record.design:
            self._put(design)
        self._read = design

    def _become(self, design: Design) -> None:
        """Adopts a design that contains all runs of this one, and the requested measures of both."""
        from longpipe.design.text import differences

        lost = differences(self.design, design)
        if lost and differences(design, self.design):
            needs = f"needs the design of study {self.name!r} in {self.store.name}, an extension of it, or another name"
            raise ScenarioError(*(f"{line}; {needs}" for line in lost))
        measures = _merged(self.design, design)
        self._adopt(self._present_design(measures) if lost else replace(design, measures=measures))

    def _with(self, **changes: Any) -> Design:  # noqa: ANN401 - fields of a design
        """Returns the design with other replications or measures, and with the scenarios as they were stored."""
        with named_by_store():
            changed_design = replace(self.design, **changes, stored=self._stored_scenarios)
            _ = changed_design.asked
        return changed_design

    def _put(self, design: Design) -> None:
        from longpipe.design.text import to_json

        points = [(scenario, design.levels(i)) for i, scenario in enumerate(design.scenarios, 1)]
        runs = ((run.point, run.replication, run.seed) for run in design.runs())
        studies.put(self.store, self.name, to_json(design), design.base, points, runs)
        self._load(studies.require(self.store, self.name))

    def _load(self, record: studies.StudyRecord) -> None:
        self._record = record
        self._read = None


def _merged(first: Design, second: Design) -> tuple[str, ...]:
    """Returns the requested measures of two designs, and for a name of both that of the second."""
    return tuple({measure.name: str(measure) for measure in (*first.asked, *second.asked)}.values())


def _check_order(name: object, store: object, accepted: str) -> None:
    """Raises ScenarioError if the name looks like a store, and the store does not."""
    if _is_store(name) and store is not None and not _is_store(store):
        shown = name.name if isinstance(name, Store) else str(name)
        raise ScenarioError(f"study: {shown!r}, store: {str(store)!r}; name and store are swapped? needs {accepted}")


def _is_store(what: object) -> bool:
    return isinstance(what, Store | Path) or (
        isinstance(what, str) and ("://" in what or Path(what).suffix in STORES or Path(what).is_file())
    )
