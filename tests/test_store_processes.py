"""Two processes with one store: no run is repeated, none is lost, and claims of a process that has ended are taken
over.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from longpipe import Scenario, simulate
from longpipe.store import Store, pack, studies
from longpipe.store.leases import living
from longpipe.store.owners import LEASE_S, Owner, is_dead, machine

# Runs long enough that each process obtains some of them.
SCENARIO = Scenario(defaults="1996", name="shared", duration="5 s")
SEEDS = range(40)

# Prints a line for each run, and waits for a line before it starts.
CAMPAIGN = f"""
import sys
from longpipe import Scenario, simulate
from longpipe.executors import base
from longpipe.store import Store
from longpipe.study import complete_study


class Telling:
    def run(self, jobs):
        for job in jobs:
            print(job[1], flush=True)
            yield [(job, base.run_job(job))]


if __name__ == "__main__":
    store = Store(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    scenario = Scenario(defaults="1996", name="shared", duration="{SCENARIO.duration}")
    complete_study([(scenario, seed) for seed in range({SEEDS.start}, {SEEDS.stop})], store, executor=Telling())
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/campaign.db"
    url: str = request.getfixturevalue("database")
    return url


def begin(where: str, directory: Path, count: int) -> list[subprocess.Popen[str]]:
    """Starts `count` processes that execute the same campaign, and waits until all have started."""
    script = directory / "campaign.py"
    script.write_text(CAMPAIGN)
    processes = [
        subprocess.Popen([sys.executable, script, where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "ready\n"
    return processes


def let_run(process: subprocess.Popen[str]) -> None:
    """Lets a process that has started begin with the campaign."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def rest(process: subprocess.Popen[str]) -> list[int]:
    """Returns the seeds that a process reported, once it has ended."""
    said, _ = process.communicate(timeout=200)
    return [int(line) for line in said.split()]


def check_all_runs(where: str) -> None:
    with closing(Store(where, readonly=True)) as store:
        runs = studies.all_runs(store)
        assert sorted(runs["seed"]) == list(SEEDS)
        for seed in (0, 17, 39):
            assert store.require(SCENARIO, seed).state_hash == simulate(SCENARIO, seed).state_hash
        with store.reading() as connection:
            assert living(connection) == []


def test_two_processes_share_a_campaign(where: str, tmp_path: Path) -> None:
    first, second = begin(where, tmp_path, 2)
    let_run(first)
    let_run(second)
    told = [rest(first), rest(second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert sorted(told[0] + told[1]) == list(SEEDS)
    assert all(told)
    check_all_runs(where)


def test_leases_of_killed_processes_are_taken_over(where: str, tmp_path: Path) -> None:
    killed, left = begin(where, tmp_path, 2)
    let_run(killed)
    assert killed.stdout is not None
    told = [int(killed.stdout.readline()) for _ in range(3)]
    let_run(left)
    began = time.monotonic()
    killed.send_signal(signal.SIGKILL)
    told += [int(line) for line in killed.communicate()[0].split()]
    others = rest(left)
    assert left.returncode == 0
    assert time.monotonic() - began < LEASE_S
    # Only the run in progress is repeated.
    assert sorted({*told, *others}) == list(SEEDS)
    assert set(told) & set(others) <= {told[-1]}
    check_all_runs(where)


def test_lease_is_exclusive_until_it_is_returned(where: str) -> None:
    keys = [("d" * 64, str(seed)) for seed in range(3)]
    with closing(Store(where)) as store, store.leases() as ours:
        assert ours.take(keys[:2]) == (set(keys[:2]), set(), set())
        with store.leases() as theirs:
            assert theirs.take(keys) == ({keys[2]}, set(), set(keys[:2]))
        assert ours.take([keys[2]]) == ({keys[2]}, set(), set())
    with closing(Store(where)) as store, store.leases() as again:
        assert again.take(keys) == (set(keys), set(), set())


def test_finished_run_is_leased_only_with_fresh(where: str) -> None:
    with closing(Store(where)) as store, store.leases() as leases:
        store.save(SCENARIO, 1, pack(simulate(SCENARIO, 1)))
        key = (SCENARIO.digest(), "1")
        assert leases.take([key]) == (set(), {key}, set())
        assert leases.take([key], fresh=True) == ({key}, set(), set())


def test_owner_without_a_process_counts_as_dead() -> None:
    this = Owner()
    now = time.time()
    elsewhere = Owner(machine="elsewhere")
    # For a process on another machine, only the last heartbeat is known.
    assert not is_dead(elsewhere, now - LEASE_S + 1, now)
    assert is_dead(elsewhere, now - LEASE_S - 1, now)
    # A process on this machine may be slow; a process that has ended is recognized at once, including a zombie.
    parent = Owner(pid=os.getppid(), began=_began(os.getppid()))
    assert not is_dead(parent, now - 10 * LEASE_S, now)
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        ended = Owner(pid=child.pid, began=_began(child.pid))
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert is_dead(ended, now, now)
    assert is_dead(ended, now, now)
    # If a later process has the ID of an earlier one, the heartbeat decides.
    later = Owner(machine=machine(), pid=os.getppid(), began=this.began - 1e6)
    assert not is_dead(later, now - 1, now)
    assert is_dead(later, now - 10 * LEASE_S, now)
    # The leases belong to this process, whose campaign has ended.
    assert is_dead(this, now, now)


def _began(pid: int) -> float:
    import psutil

    return psutil.Process(pid).create_time()
