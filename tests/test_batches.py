import json
import pickle

from longpipe import Scenario
from longpipe.design.cost import estimated_cpu_s
from longpipe.executors.base import Failure, Job, run_batch
from longpipe.executors.batches import LARGEST, Batches
from longpipe.store.packing import compressed

SHORT = Scenario(defaults="1996", name="short", duration="20 ms")
LONG = SHORT.with_(name="long", duration="1000 s")
SHORT_S = estimated_cpu_s(SHORT)


def jobs(*scenarios: Scenario) -> list[Job]:
    return [(scenario, seed) for seed, scenario in enumerate(scenarios)]


def begun(given: list[Job], target_s: float, relative: float = 1.0) -> Batches:
    """Returns batches after the first job, which took `relative` times the estimate."""
    batches = Batches(given, target_s)
    first = batches.next()
    assert first == given[:1]
    batches.took(first, relative * SHORT_S)
    return batches


def test_jobs_are_single_batches_until_one_is_measured() -> None:
    given = jobs(*[SHORT] * 3)
    assert list(iter(Batches(given, 1000.0).next, [])) == [[job] for job in given]


def test_batch_size_follows_from_expected_durations() -> None:
    batches = begun(jobs(*[SHORT] * 26), 10.5 * SHORT_S)
    assert [len(batches.next()) for _ in range(4)] == [10, 10, 5, 0]


def test_every_job_is_run_and_a_long_one_runs_alone() -> None:
    given = jobs(SHORT, SHORT, SHORT, LONG, LONG, SHORT)
    batches = begun(given, 1.0)
    assert list(iter(batches.next, [])) == [given[1:3], [given[3]], [given[4]], [given[5]]]


def test_durations_of_batches_correct_estimates() -> None:
    batches = begun(jobs(*[SHORT] * 2000), 10.2 * SHORT_S)
    for _ in range(20):
        batch = batches.next()
        batches.took(batch, len(batch) * SHORT_S / 2)
    assert len(batches.next()) == 20
    for _ in range(20):
        batches.took(batch, 0.0)
    assert len(batches.next()) == LARGEST


def test_returned_jobs_run_first_and_one_by_one() -> None:
    given = jobs(*[SHORT] * 7)
    batches = begun(given, 3.5 * SHORT_S)
    batches.apart(batches.next())
    assert list(iter(batches.next, [])) == [[given[1]], [given[2]], [given[3]], given[4:]]


def test_equal_scenarios_of_batches_are_resolved_once() -> None:
    seen: list[Scenario] = []

    def run(job: Job, _: str | None) -> Failure:
        seen.append(job[0])
        return Failure("")

    stored = Scenario.stored(json.loads(SHORT.to_json()), compressed(SHORT.resolved_json().encode()), SHORT.digest())
    for scenario in (SHORT, SHORT, stored, stored):
        run_batch(run, [(pickle.loads(pickle.dumps(scenario)), 1)], None)
    assert seen[0] is seen[1]
    # Each of these brings its own resolved scenario, because a file may have changed.
    assert seen[2] is not seen[3]
