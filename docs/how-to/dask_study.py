"""A study on the processes of a Dask cluster on this machine: python dask_study.py."""

from distributed import LocalCluster

from longpipe import Scenario
from longpipe.design import Design, Factor
from longpipe.study import Study

BUFFERS = Factor.over("switch.buffer", ["500 cells", "1000 cells", "2000 cells"], "buffer")


def main() -> None:
    """Runs the missing runs of the study and prints their means."""
    lan = Scenario(defaults="1996", duration="1 s")
    study = Study(Design.full_factorial(lan, [BUFFERS], replications=4), "dask.db", "buffers")
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        status = study.run(cluster)
    print(f"{status.finished} of {status.runs} runs")
    print(study.frame().groupby("buffer")["efficiency"].mean())


# Dask starts each worker by importing this script, and must not start a cluster in it.
if __name__ == "__main__":
    main()
