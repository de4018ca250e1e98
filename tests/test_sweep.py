"""Studies drawn over their factors."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from longpipe import Design, Factor, Scenario, ScenarioError, Study, pictures
from longpipe.analysis.intervals import estimate
from longpipe.pictures.sweep import sweep_means

FACTORS = [
    Factor.over("switch.buffer", ["500 cells", "1000 cells", "5000 cells"], "buffer"),
    Factor.over("tcp.recovery", ["reno", "sack"], "tcp"),
]
BASE = Scenario(name="lan", duration="100 ms").with_(start={"kind": "random", "over": "10 ms"})


@cache
def study(factors: int = 2) -> Study:
    found = Study(
        Design.full_factorial(BASE, FACTORS[:factors], replications=3, measures=["one=flow:flow1.throughput"])
    )
    found.run(workers=1)
    return found


def test_means_are_those_of_the_runs_of_a_level() -> None:
    means, runs = sweep_means(study(), "buffer", "efficiency", "tcp"), study().frame()
    assert len(means) == 6
    for row in means.to_dict("records"):
        own = runs[(runs["buffer"] == row["buffer"]) & (runs["tcp"] == row["tcp"])]["efficiency"]
        wanted = estimate(own)
        assert (row["mean"], row["low"], row["high"]) == (wanted.mean, wanted.mean_low, wanted.mean_high)


def test_a_sweep_is_drawn_at_the_numbers_of_its_levels_in_units_of_a_reader() -> None:
    (panel,) = pictures.sweep(study(), "buffer", "one", "tcp").axes
    assert (panel.get_xlabel(), panel.get_ylabel(), panel.get_xscale()) == ("buffer [cells]", "one [Mbit/s]", "log")
    lines = [np.asarray(container.lines[0].get_xdata()).tolist() for container in panel.containers]  # type: ignore[attr-defined]
    assert lines == [[500, 1000, 5000]] * 2
    (panel,) = pictures.sweep(study(), "tcp", "throughput_bps", "buffer").axes
    assert [text.get_text() for text in panel.get_xticklabels()] == ["reno", "sack"]
    assert panel.get_ylabel() == "throughput [Mbit/s]"


def test_a_map_has_the_mean_of_every_pair() -> None:
    panel, _ = pictures.heat(study(), "buffer", "tcp", "efficiency").axes
    means = sweep_means(study(), "buffer", "efficiency", "tcp")
    assert sorted(text.get_text() for text in panel.texts) == sorted(f"{mean:.3g}" for mean in means["mean"])


def test_what_can_t_be_drawn_is_one_line() -> None:
    for arguments, message in (
        (("bufer", "efficiency"), "factor: 'bufer'; did you mean 'buffer'? accepts buffer, tcp"),
        (("buffer", "eficiency", "tcp"), "measure: 'eficiency'; did you mean 'efficiency'?"),
        (("buffer", "efficiency"), "factor: besides 'buffer' vary tcp; needs one of them as by (--by)"),
    ):
        with pytest.raises(ScenarioError) as error:
            pictures.sweep(study(), *arguments)
        assert str(error.value).startswith(message)
    waiting = Study(Design.full_factorial(BASE, FACTORS[:1]))
    with pytest.raises(ScenarioError, match="has no finished run; needs longpipe study run lan"):
        pictures.sweep(waiting, "buffer", "efficiency")


def test_the_command_draws_a_stored_study(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    kept = Study(study(1).design, store, "lan")
    kept.run(workers=1)
    kept.close()

    def plot(*options: str) -> subprocess.CompletedProcess[str]:
        longpipe = str(Path(sys.executable).with_name("longpipe"))
        command = [longpipe, "plot", "lan", *options, "-o", "sweep.svg", "--store", str(store)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert plot("--x", "buffer", "--y", "one").returncode == 0
    assert (tmp_path / "sweep.svg").stat().st_size > 5_000
    for options, message in (
        (("window", "--x", "buffer"), "KIND: 'window' is of a run; needs none with --x, which is of a study"),
        (("--x", "buffer", "--map"), "--map: of one factor; needs --by FACTOR"),
        ((), "KIND: missing; accepts window, sequence, queue, throughput, rtt, path, or --x FACTOR of a study"),
    ):
        refused = plot(*options)
        assert (refused.returncode, refused.stderr) == (2, f"error: {message}\n")
