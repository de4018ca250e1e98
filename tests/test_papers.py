import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

import commands
import longpipe
import longpipe_evidence
from longpipe import Scenario, ScenarioError, simulate
from longpipe.store import Store
from longpipe_evidence import papers
from longpipe_evidence.papers import IDS, PAPERS, hypatia_20
from longpipe_evidence.papers.experiments import Experiment, Variant
from longpipe_evidence.papers.frozen import frozen
from longpipe_evidence.papers.paper import published_data
from longpipe_evidence.papers.replicated import ReplicatedPaper
from longpipe_evidence.papers.report.cells import anchor
from longpipe_evidence.papers.report.cells import cells as cells_of
from longpipe_evidence.papers.sensitivity import BASELINE
from reproduced import PAPER as SHORT
from reproduced import short_frr_96
from thorough import one_in

TOY = {
    "__init__.py": '''
"""A paper of one table: two buffers on the LAN."""

from longpipe.analysis.claims import Claim, Condition, mean_by_seed
from longpipe_evidence.papers.experiments import Beyond, Caption, Experiment, Variant
from longpipe_evidence.papers.replicated import ReplicatedPaper
from longpipe.scenario import Scenario

BASE = Scenario(defaults="1996", duration="20 ms").with_(**{"network.sources": 2, "switch.ties": "random"})


def experiments():
    for buffer in (100, 1000):
        for tcp in ("vanilla", "reno"):
            scenario = BASE.with_(**{"switch.buffer": f"{buffer} cells", "tcp.recovery": tcp})
            yield Experiment({"network": "lan", "tcp": tcp, "buffer": buffer}, scenario, scenario, "1")


def measure(result):
    return {"efficiency": result.efficiency}


def busy(runs):
    yield Condition("E", mean_by_seed(runs, "efficiency"), above=0.0)


PAPER = ReplicatedPaper(
    id="toy-26",
    title="Two buffers",
    data="published.csv",
    factors={"network": "net", "tcp": "TCP", "buffer": "cells"},
    columns="buffer",
    column_names={100: "100 cells", 1000: "1000 cells"},
    metrics=("efficiency",),
    series="network",
    captions=(Caption(1, "1", "efficiency", "efficiency on the LAN"),),
    experiments=lambda: list(experiments()),
    measure=measure,
    claims=(Claim("toy-1", "The link is used", busy),),
    variants=(Variant("ties: rotating", {"switch.ties": "rotating"}),),
    watched={"LAN": {"network": "lan", "tcp": "reno", "buffer": 1000}},
    conditions="Nothing is left open.",
    beyond=Beyond(lambda: list(experiments())[:1], {"longest": lambda runs: runs}, seeds=1),
)
''',
    "figures.py": '''
"""Figures of the paper."""

from matplotlib.figure import Figure


def figures(found):
    figure = Figure()
    figure.subplots().plot(found.rows["mean"], found.rows["published"])
    figure.suptitle("Toy")
    return {"toy": figure}


def beyond_figures(summaries):
    return {}
''',
    "published.csv": "table,network,tcp,buffer,efficiency\n"
    + "".join(f"1,lan,{tcp},{buffer},0.5\n" for buffer in (100, 1000) for tcp in ("vanilla", "reno")),
}


def test_papers_are_registered_by_id_and_package() -> None:
    assert list(PAPERS) == list(IDS)
    for name, paper in PAPERS.items():
        assert paper.id == name
        assert paper is sys.modules[paper.package].PAPER
        assert pickle.loads(pickle.dumps(paper)) is paper
    with pytest.raises(KeyError):
        PAPERS["frr-69"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a copy of longpipe to which a paper was added, as a folder and a line in the registry."""
    home = tmp_path_factory.mktemp("toy")
    # The copy includes Python's compiled files, which take six seconds to create.
    for package in (longpipe, longpipe_evidence):
        shutil.copytree(Path(str(package.__file__)).parent, home / package.__name__)
    papers = home / "longpipe_evidence" / "papers"
    (papers / "toy_26").mkdir()
    for name, text in TOY.items():
        (papers / "toy_26" / name).write_text(text)
    registry = (papers / "__init__.py").read_text()
    assert registry.count('    "lbd-01",\n') == 1
    (papers / "__init__.py").write_text(registry.replace('    "lbd-01",\n', '    "lbd-01",\n    "toy-26",\n'))
    return home


# A program that runs several command lines in one process, which also draws their figures, because each start of a
# process and each import of Matplotlib takes more than a second of processor time.
SEVERAL = """
import json, sys
from longpipe.cli import main
from longpipe_evidence.papers.report import drawing

def draw(module, function, subject, directory):
    return [name for _, names in drawing._share(module, function, subject, directory, 0, 1) for name in names]

drawing.draw = draw
for words in json.loads(sys.argv[1]):
    sys.argv = ["longpipe", *words]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""


def start(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(home), "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "80"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return start(home, "-m", "longpipe", *arguments)


def test_paper_is_added_by_a_folder_and_one_line(home: Path) -> None:
    common = ("reproduce", "toy-26", "--no-store", "--workers", "1")
    commands = [(*common, *arguments) for arguments in (("--seeds", "2"), ("--sensitivity",), ("--beyond",))]
    done = start(home, "-c", SEVERAL, json.dumps(commands))
    assert done.returncode == 0, done.stderr
    folder = home / "results" / "toy-26"
    report = json.loads((folder / "report.json").read_text())
    assert report["paper"] == "toy-26"
    assert [len(table["rows"]) for table in report["tables"]] == [4]
    assert [(claim["id"], claim["verdict"]) for claim in report["claims"]] == [("toy-1", "holds")]
    assert {"toy.svg", "toy.png", "sensitivity.csv", "longest.csv"} <= {path.name for path in folder.iterdir()}
    done = run(home, "report")
    assert (done.returncode, done.stderr) == (0, "")
    page = (home / "results" / "report.html").read_text()
    for name in ("toy-26-table-1-efficiency", "toy-26-figure-toy", "toy-26-sensitivity-variants", "toy-26-longest"):
        assert f'id="{name}"' in page


def test_messages_name_the_paper_that_was_added(home: Path) -> None:
    assert "lbd-01, toy-26" in run(home, "reproduce", "toy-62").stderr
    refused = run(home, "reproduce", "frr-96", "--no-store", "--beyond")
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: --beyond: frr-96 has no extension; needs one of: buf-97, lbd-01, toy-26, rfc-9438\n",
    )


def test_one_table_is_that_of_the_whole_paper(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr("longpipe_evidence.papers.frr_96.PAPER", SHORT)
    # The runs of the paper are already in the store.
    store = Store(shutil.copy(short_frr_96(tmp_path_factory) / "runs.db", tmp_path))
    found = papers.reproduce("frr-96", seeds=1, table=2, store=store, workers=1)
    assert list(found.tables) == ["Table 2"]
    table = found.tables["Table 2"]
    assert set(table["metric"]) == {"fairness"}
    assert table["published"].notna().all()
    whole = papers.reproduce("frr-96", seeds=1, store=store, workers=1).tables
    assert list(whole) == ["Table 1", "Table 2", "Table 3", "Table 4"]
    pd.testing.assert_frame_equal(table, whole["Table 2"])


@pytest.mark.parametrize(
    ("paper", "table", "message"),
    [
        ("frr-96", 9, "--table: 9; frr-96 accepts 1, 2, 3, 4"),
        ("lbd-01", 1, "--table: 1; lbd-01 can only be reproduced as a whole"),
        ("rfc-9438", 4, "--table: 4; rfc-9438 accepts 1, 2, 3"),
        (
            "frr96",
            1,
            "paper: 'frr96'; did you mean 'frr-96'? accepts frr-96, gr-97, buf-97, www-98, lbd-01, rfc-9438, hypatia-20, prague-24",
        ),
    ],
)
def test_unknown_table_is_rejected(paper: str, table: int, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        papers.reproduce(paper, table=table)
    assert str(error.value) == message


@pytest.fixture
def one_pair_of_hypatia(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leaves one of Hypatia's three pairs of cities; test_hypatia_20.py computes the routes of all, at fewer instants."""
    monkeypatch.setattr(hypatia_20, "_STATIONS", dict(list(hypatia_20._STATIONS.items())[-1:]))
    hypatia_20.experiments.cache_clear()
    yield
    hypatia_20.experiments.cache_clear()


@pytest.mark.usefixtures("one_pair_of_hypatia")
@pytest.mark.parametrize("paper", IDS)
def test_papers_write_configurations_and_suggest_names(paper: str) -> None:
    cells = PAPERS[paper].cells()
    name = list(cells)[-1]
    done = commands.run("init", "--example", f"{paper}: {name}")
    assert Scenario.from_toml(done.stdout).digest() == cells[name].digest()
    # Names on a page are reduced to letters and digits.
    assert len({anchor(paper, name) for name in cells}) == len(cells)
    refused = commands.run("init", "--example", f"{paper}: none of them")
    begins = ", ".join(dict.fromkeys(one.split()[0] for one in cells))
    needs = f"needs one of {len(cells)} configurations, as in {next(iter(cells))!r}; first word: {begins}"
    message = f"error: --example: {paper}: 'none of them'; {needs}\n"
    assert (refused.returncode, refused.stderr) == (2, message)


@pytest.mark.parametrize("paper", ["gr-97", "www-98"])
def test_written_file_explains_differences_from_the_paper(paper: str) -> None:
    name, scenario = next(iter(PAPERS[paper].cells().items()))
    text = commands.run("init", "--example", f"{paper}: {name}").stdout
    comment = " ".join(line.removeprefix("#").strip() for line in text.partition("\n\n")[0].splitlines())
    assert comment.startswith(f"{paper}: Its efficiency ")
    call = comment.partition("Python returns the paper's numbers: ")[2]
    short = scenario.with_(duration="400 ms")
    assert eval(
        call, {"longpipe_evidence": longpipe_evidence, "longpipe": longpipe, "scenario": short, "seed": 1}
    ).keys() >= {"efficiency", "fairness"}
    grid = cells_of(PAPERS[paper])
    assert grid.columns[-1].group == "prints other values, see the note"
    assert grid.note.startswith("Its efficiency ")
    assert "longpipe run" not in cells_of(PAPERS["frr-96"]).note


def test_numbers_of_a_configuration_are_compared_by_value() -> None:
    one, other = (
        commands.run("init", "--example", f"gr-97: wan 15 12000 sack tail-drop {share} 300").stdout
        for share in ("0", "0.0")
    )
    assert one == other != ""


def test_the_words_of_a_configuration_are_listed_one_after_another() -> None:
    for begin, follows in (
        ("geo 15", "next word after 'geo 15': 3375, 6750, 12500, 25000, 50000, 100000, 200000, 400000\n"),
        ("geo 15 3375 sack", "next word after 'geo 15 3375': 0.0169\n"),
        ("geo 15 200000 1.0 epd", "next word after 'geo 15 200000 1.0': nothing, 155.52, start-up\n"),
    ):
        refused = commands.run("init", "--example", f"buf-97: {begin}")
        assert (refused.returncode, refused.stderr.endswith(follows)) == (2, True), refused.stderr


@pytest.mark.parametrize("paper", [paper for paper in IDS if isinstance(PAPERS[paper], ReplicatedPaper)])
def test_every_published_table_has_a_caption(paper: str) -> None:
    found = PAPERS[paper]
    assert isinstance(found, ReplicatedPaper)
    # A table of variants has a column for each level of both factors.
    assert found.series != found.columns
    if found.data is not None:
        assert len(found.published()) == len(published_data(paper, found.data))


@pytest.mark.parametrize("paper", [name for name in IDS if frozen(name) and isinstance(PAPERS[name], ReplicatedPaper)])
def test_sensitivity_in_the_package_has_every_variant_and_configuration(paper: str) -> None:
    shipped, of = frozen(paper), PAPERS[paper]
    assert shipped is not None
    assert isinstance(of, ReplicatedPaper)
    command = f"python -m longpipe_evidence.papers.frozen results/{paper}, after {shipped.record['command']}"
    assert shipped.record["seeds"] >= 3, command
    rows = shipped.frame("sensitivity-rows")
    variants = (BASELINE, *of.other_readings, *of.variants)
    assert list(rows["variant"].unique()) == [variant.name for variant in variants], command
    planned = pd.DataFrame([dict(e.factors) for e in of.experiments() if e.table]).drop_duplicates()
    assert len(rows[list(of.factors)].drop_duplicates()) == len(planned), command


def _variants(paper: str) -> list[Variant]:
    """Returns the variants of a paper's sensitivity, none if the package has no sensitivity of it."""
    of = PAPERS[paper]
    if frozen(paper) is None or not isinstance(of, ReplicatedPaper):
        return []
    return [BASELINE, *of.other_readings, *of.variants]


@cache
def _printed(paper: str) -> list[Experiment]:
    """Returns the experiments with a published table. They are made when the first test needs them, not in each worker."""
    of = PAPERS[paper]
    assert isinstance(of, ReplicatedPaper)
    return [experiment for experiment in of.experiments() if experiment.table]


@pytest.mark.parametrize(
    ("paper", "number"), one_in(4, [(paper, number) for paper in IDS for number in range(len(_variants(paper)))])
)
def test_packaged_sensitivity_equals_that_of_longpipe(paper: str, number: int) -> None:
    """Each variant has one configuration; the configurations rotate through those of the paper."""
    variant = _variants(paper)[number]
    experiment = _printed(paper)[number * 7 % len(_printed(paper))]
    # Frozen results outlive an engine that changes none of them.
    shipped, of = frozen(paper), PAPERS[paper]
    assert shipped is not None
    assert isinstance(of, ReplicatedPaper)
    scenario = variant.apply(experiment)
    measured = pd.DataFrame([of.measure(simulate(scenario, seed)) for seed in range(1, shipped.record["seeds"] + 1)])
    rows = shipped.frame("sensitivity-rows")
    factors = dict(experiment.factors)
    chosen = (rows["variant"] == variant.name) & (rows[list(factors)] == pd.Series(factors)).all(axis="columns")
    means = rows[chosen].drop_duplicates("metric").set_index("metric")["mean"]
    assert list(means.index) == list(of.metrics)
    for metric, mean in means.items():
        assert measured[metric].mean() == pytest.approx(mean, rel=1e-5, nan_ok=True), metric
