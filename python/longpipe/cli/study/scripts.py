"""`longpipe study script`: job scripts of batch systems."""

import re
import shlex
import sys
from pathlib import Path
from typing import Final

from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import opened, store_url
from longpipe.errors import ScenarioError
from longpipe.store import studies
from longpipe.store.address import Address

# Slurm's formats of times: minutes, hours:minutes:seconds, and days-hours:minutes:seconds.
_TIME: Final = re.compile(r"\d+|\d+:\d\d:\d\d|\d+-\d+:\d\d:\d\d")
# Time before the limit at which the job receives SIGTERM [s], so that the client ends by itself.
_WARNED_S: Final = 60
# Tasks of an array wait this long for the first one [s].
_PATIENCE_S: Final = 3600

_HEAD: Final = """\
#!/bin/bash
#SBATCH --job-name={job}
#SBATCH --time={time}
#SBATCH --signal=B:TERM@{warned}
{directives}

set -euo pipefail
export PATH={path}:"$PATH"
"""
# Starts a scheduler and the client, and ends all processes with the script, however that ends. The scheduler ends last,
# because workers wait for it when they end.
_CLIENT: Final = """\
others=()
end() {{
  trap - EXIT
  kill "${{others[@]}}" 2> /dev/null || true
  wait "${{others[@]}}" || true
  kill "$scheduler" 2> /dev/null || true
  wait
  rm -f "$file"
}}
dask scheduler --scheduler-file "$file" --no-dashboard --port 0 &
scheduler=$!
trap end EXIT
trap 'exit 143' TERM INT
until [ -s "$file" ]; do
  kill -0 "$scheduler" || exit 1
  sleep 1
done
{workers}longpipe study run {study} --store {store} --executor "dask://$file" &
client=$!
others+=("$client")
wait "$client"
"""
_JOB_WORKERS: Final = """\
srun dask worker --scheduler-file "$file" --nthreads 1 --no-nanny --death-timeout 60 &
others+=($!)
"""
_ARRAY: Final = """\
file="$PWD/longpipe-$SLURM_ARRAY_JOB_ID.json"
if [ "$SLURM_ARRAY_TASK_ID" -ne 0 ]; then
  # The scheduler runs in task 0.
  for ((waited = 0; waited < {patience}; waited++)); do
    if [ -s "$file" ]; then
      exec dask worker --scheduler-file "$file" --nthreads 1 --no-nanny --death-timeout 60
    fi
    sleep 1
  done
  exit 1
fi
"""


def script(name: str, url: str | None, *, array: bool, tasks: int, limit: str) -> None:
    """Prints a script for Slurm that runs a study, as one job or as an array of jobs."""
    if not _TIME.fullmatch(limit):
        raise ScenarioError(f"--time: {limit!r}; accepts MINUTES, HH:MM:SS and D-HH:MM:SS, as in 04:00:00")
    if array and tasks < 2:
        raise ScenarioError(f"--tasks: {tasks}; needs at least 2 with --array, because task 0 only stores runs")
    with opened(url, readonly=True) as store:
        studies.require(store, name)
    address = Address(where := store_url(url))
    # A job may start in another directory.
    where = f"sqlite:///{address.path.resolve()}" if address.is_sqlite else where
    of_array = f"#SBATCH --array=0-{tasks - 1} --ntasks=1 --cpus-per-task=1"
    directives = of_array if array else f"#SBATCH --ntasks={tasks} --cpus-per-task=1"
    job = re.sub(r"[^\w.-]", "-", f"longpipe-{name}")
    path = shlex.quote(str(Path(sys.executable).parent))
    head = _HEAD.format(job=job, time=limit, warned=_WARNED_S, directives=directives, path=path)
    file = _ARRAY.format(patience=_PATIENCE_S) if array else 'file="$PWD/longpipe-${SLURM_JOB_ID:-$$}.json"\n'
    workers = "" if array else _JOB_WORKERS
    client = _CLIENT.format(workers=workers, study=shlex.quote(name), store=shlex.quote(where))
    echo(f"{head}\n{file}{client}".removesuffix("\n"))
