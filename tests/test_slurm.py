"""The script of docs/how-to/slurm-through-dask.md, run with a fake Slurm whose jobs are processes on this machine."""

import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from longpipe.store import Store
from longpipe.study import Study

ROOT = Path(__file__).parent.parent
# Output of Slurm; the job has its own session, named after its number, and its script is deleted after submission.
SBATCH = """#!/bin/bash
cp "$1" "$1.job"
setsid bash "$1.job" >> jobs.log 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/bash
for job in "$@"; do kill -- -"$job"; done
"""
# Changes to the script that the test needs because it has little time and few cores.
SHORTER = {
    '.toml")': '.toml").with_(duration="20 ms")',
    "replications=20": "replications=2",
    'cores=16, processes=16, memory="32 GB"': 'cores=2, processes=2, memory="2 GB"',
    "jobs=10": "jobs=1",
}


@pytest.mark.skipif(sys.platform != "linux", reason="needs setsid")
def test_the_script_for_slurm_runs_its_study(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "slurm-through-dask.md").read_text()
    script = re.findall(r"```{code-block} python3\n(.*?)```", page, re.DOTALL)[0]
    for long, short in SHORTER.items():
        assert long in script
        script = script.replace(long, short)
    (tmp_path / "campaign.py").write_text(script)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    for name, text in {"sbatch": SBATCH, "scancel": SCANCEL}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "DASK_JOBQUEUE__SLURM__INTERFACE": "lo",
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
