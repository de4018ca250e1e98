"""Scripts for Slurm, run with a fake Slurm whose jobs are processes on this machine."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from commands import run
from longpipe import Scenario
from longpipe.design import Design, Factor
from longpipe.store import Store
from longpipe.study import Status, Study

ROOT = Path(__file__).parent.parent
# Output of Slurm; the job has its own session, named after its number, and its script is deleted after submission.
SUBMIT = """#!/bin/bash
cp "$1" "$1.job"
setsid bash "$1.job" >> jobs.log 2>&1 &
echo "Submitted batch job $!"
"""
CANCEL = """#!/bin/bash
for job in "$@"; do kill -- -"$job"; done
"""
# Changes to the script that the test needs because it has little time and few cores.
SHORTER = {
    '.toml")': '.toml").with_(duration="20 ms")',
    "replications=20": "replications=2",
    'cores=16, processes=16, memory="32 GB"': 'cores=2, processes=2, memory="2 GB"',
    "jobs=10": "jobs=1",
}


# Class of the cluster, and the commands of the batch system that submit and cancel jobs.
SYSTEMS = {"Slurm": ("SLURMCluster", "sbatch", "scancel"), "PBS": ("PBSCluster", "qsub", "qdel")}


@pytest.mark.skipif(sys.platform != "linux", reason="needs setsid")
@pytest.mark.parametrize("system", SYSTEMS)
def test_documented_script_runs_its_study(system: str, tmp_path: Path) -> None:
    cluster, submit, cancel = SYSTEMS[system]
    page = (ROOT / "docs" / "how-to" / "slurm-through-dask.md").read_text()
    script = re.findall(r"```{code-block} python3\n(.*?)```", page, re.DOTALL)[0]
    for long, short in SHORTER.items():
        assert long in script
        script = script.replace(long, short)
    (tmp_path / "campaign.py").write_text(script.replace("SLURMCluster", cluster))
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    for name, text in {submit: SUBMIT, cancel: CANCEL}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        f"DASK_JOBQUEUE__{system.upper()}__INTERFACE": "lo",
        "DASK_CONFIG": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "campaign.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with closing(Store(tmp_path / "campaign.db", readonly=True)) as store:
        status = Study.open("geo", store).status()
    assert (status.runs, status.complete) == (16, True)
    assert len((tmp_path / "geo.csv").read_text().splitlines()) == 17


# Output of Slurm: two tasks, which receive the signal that ends the job.
SRUN = """#!/bin/bash
trap 'kill $(jobs -p)' TERM
"$@" & "$@" &
wait; wait
"""
DESIGN = Design.full_factorial(
    Scenario(defaults="1996", name="lan", duration="20 ms"),
    [Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp")],
    replications=10,
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Returns a directory with a study that has not started, and with commands of Slurm."""
    Study(DESIGN, tmp_path / "a.db", "lan").close()
    (tmp_path / "srun").write_text(SRUN)
    (tmp_path / "srun").chmod(0o755)
    return tmp_path


def started(place: Path, script: str, **variables: str) -> subprocess.Popen[bytes]:
    """Starts a job script in a session of its own."""
    path = f"{place}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "DASK_CONFIG": str(place), **variables}
    with (place / "job.log").open("ab") as log:
        return subprocess.Popen(
            ["bash", "-c", script], cwd=place, env=environment, start_new_session=True, stdout=log, stderr=log
        )


def left(jobs: list[subprocess.Popen[bytes]], deadline_s: float) -> list[str]:
    """Returns the command lines of the processes that remain in the sessions of jobs after a time."""
    sessions, until = {job.pid for job in jobs}, time.monotonic() + deadline_s
    while True:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                if os.getsid(process.pid) in sessions and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(" ".join(process.cmdline()))
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.2)


def status(place: Path) -> Status:
    with closing(Study.open("lan", Store(place / "a.db", readonly=True))) as study:
        return study.status()


def job_script(place: Path, *options: object) -> str:
    done = run("study", "script", "lan", "--slurm", "--store", place / "a.db", *options)
    assert done.returncode == 0, done.stderr
    subprocess.run(["bash", "-n", "-c", done.stdout], check=True)
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="needs sessions")
def test_a_job_script_ends_its_scheduler(place: Path) -> None:
    job = started(place, job_script(place, "--tasks", 2))
    assert job.wait(300) == 0, (place / "job.log").read_text()
    assert left([job], 20) == []
    assert status(place).complete
    assert not list(place.glob("*.json"))


@pytest.mark.skipif(sys.platform != "linux", reason="needs sessions")
def test_a_job_that_is_cancelled_ends_all_processes(place: Path) -> None:
    Study.open("lan", place / "a.db").grow(100_000).close()
    job = started(place, job_script(place))
    deadline = time.monotonic() + 300
    while status(place).finished < 20 and time.monotonic() < deadline:
        time.sleep(0.5)
    job.send_signal(signal.SIGTERM)
    assert job.wait(120) == 143, (place / "job.log").read_text()
    assert left([job], 20) == []
    assert status(place).finished >= 20
    assert "continue with: longpipe study run lan" in (place / "job.log").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="needs sessions")
def test_tasks_of_an_array_end_with_their_scheduler(place: Path) -> None:
    script = job_script(place, "--array", "--tasks", 3)
    assert "#SBATCH --array=0-2 " in script
    jobs = [started(place, script, SLURM_ARRAY_JOB_ID="7", SLURM_ARRAY_TASK_ID=f"{task}") for task in (2, 1, 0)]
    assert jobs[-1].wait(300) == 0, (place / "job.log").read_text()
    for job in jobs:
        job.wait(60)
    assert left(jobs, 20) == []
    assert status(place).complete


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--slurm: missing"),
        (("--slurm", "--time", "4 h"), "--time: '4 h'; accepts MINUTES, HH:MM:SS and D-HH:MM:SS"),
        (("--slurm", "--array", "--tasks", "1"), "--tasks: 1; needs at least 2 with --array"),
    ],
)
def test_job_scripts_reject_options_in_one_line(place: Path, options: tuple[str, ...], message: str) -> None:
    done = run("study", "script", "lan", "--store", place / "a.db", *options)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {message}")
