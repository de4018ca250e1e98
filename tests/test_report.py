import base64
import json
import math
import re
import shutil
import subprocess
from io import BytesIO
from pathlib import Path
from xml.etree.ElementTree import Element

import html5lib
import pandas as pd
import pytest

from commands import run
from longpipe import Scenario, _core
from longpipe.design import Design, Factor
from longpipe.errors import ScenarioError
from longpipe.report import study as study_page
from longpipe.report.frames import download, grid
from longpipe.report.parts import claims_of, number
from longpipe.report.svg import DARK_CARD, Palette, contrast, in_the_dark, inline
from longpipe.study import Study, complete_study
from longpipe_evidence.papers import frr_96
from longpipe_evidence.papers.lbd_01.claims import Recorded, claims
from longpipe_evidence.papers.report.folder import Part, is_current, records
from longpipe_evidence.papers.report.page import page
from longpipe_evidence.papers.report.results import Results
from longpipe_evidence.papers.statements import statements
from reproduced import PAPER, short_frr_96, whole_lbd_01

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns short runs of frr-96 with two seeds, its sensitivity, and all runs of lbd-01."""
    directory = tmp_path_factory.mktemp("results")
    for name, made in (("frr-96", short_frr_96), ("lbd-01", whole_lbd_01)):
        shutil.copytree(made(tmp_path_factory) / name, directory / name)
    return directory


@pytest.fixture(scope="module")
def text(results: Path) -> str:
    return page([Results(name, results / name) for name in ("frr-96", "lbd-01")])


@pytest.fixture(scope="module")
def tree(text: str) -> Element:
    """Parses the page with a strict parser."""
    found = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    assert isinstance(found, Element)
    return found


def words(element: Element | None) -> str:
    assert element is not None
    return " ".join("".join(element.itertext()).split())


def table(tree: Element, name: str) -> list[list[str]]:
    """Returns the cells of a table's body."""
    (figure,) = tree.findall(f".//figure[@id='{name}']")
    return [[words(cell) for cell in row] for row in figure.findall(".//tbody/tr")]


def test_the_page_needs_no_network(text: str, tree: Element) -> None:
    assert "//" not in re.sub(r"base64,[\w+/=\s]*|^\s*//.*", "", text, flags=re.MULTILINE)
    assert re.findall(r"url\((?!#)", text) == []
    links = [a.attrib["href"] for a in tree.iter("a")]
    assert {link.partition(":")[0] if link.startswith("data:") else link[0] for link in links} == {"data", "#"}
    assert not list(tree.iter("link"))
    assert [script.attrib for script in tree.iter("script")] == [{}]


def test_names_are_unique_and_every_link_leads_somewhere(tree: Element) -> None:
    names = [element.attrib["id"] for element in tree.iter() if "id" in element.attrib]
    assert len(names) == len(set(names))
    inside = {a.attrib["href"][1:] for a in tree.iter("a") if a.attrib["href"].startswith("#")}
    assert inside <= set(names)
    used = set(re.findall(r"url\(#([^)]+)\)", "".join(e.attrib.get("clip-path", "") for e in tree.iter())))
    assert used
    assert used <= set(names)


def test_every_figure_has_a_textual_description(tree: Element, results: Path) -> None:
    pictures = [f for f in tree.iter("figure") if f.attrib["class"] == "picture"]
    drawn = [path for name in ("frr-96", "lbd-01") for path in (results / name).glob("*.svg")]
    assert len(pictures) == len(drawn) == 10
    for picture in pictures:
        (svg,) = [e for e in picture.iter() if e.tag.endswith("svg")]
        assert svg.attrib["role"] == "img"
        by_name = {e.attrib["id"]: words(e) for e in svg if "id" in e.attrib}
        title, description = (by_name[name] for name in svg.attrib["aria-labelledby"].split())
        assert title
        assert description.startswith(title)
        # A picture of a network has no axes.
        assert "network" in picture.attrib["id"] or re.search("Across: .*Up: ", description)
    assert all(span.attrib.get("aria-label") for span in tree.iter() if span.attrib.get("class") == "span")


def test_every_table_has_every_published_and_simulated_number(tree: Element, results: Path) -> None:
    rows = pd.read_csv(results / "frr-96" / "tables.csv", dtype={"table": str})
    for caption in frr_96.PAPER.captions:
        shown = table(tree, f"frr-96-table-{caption.number}-{caption.metric}")
        assert len(shown) == 8
        published = [float(line[i]) for line in shown for i in (3, 6, 9, 12)]
        wanted = rows[(rows["table"] == caption.table) & (rows["metric"] == caption.metric)]
        assert sorted(published) == sorted(wanted["published"])
        means = [float(line[i].partition(" ")[0]) for line in shown for i in (4, 7, 10, 13)]
        assert sorted(means) == pytest.approx(sorted(wanted["mean"]), abs=0.0051)
    numbers = pd.read_csv(results / "lbd-01" / "numbers.csv")
    slopes = numbers["quantity"] == "slope_tn"
    printed = list(numbers.loc[~slopes, "published"])
    assert [float(line[4]) for line in table(tree, "lbd-01-numbers")] == pytest.approx(printed)
    for name, count in (("lbd-01-numbers", len(printed) - 4), ("lbd-01-table-2", 12)):
        (figure,) = tree.findall(f".//figure[@id='{name}']")
        # A difference between two transfers has no scenario of its own.
        assert len(figure.findall(".//tbody//a")) == count
    shown = table(tree, "lbd-01-table-2")
    assert [float(line[i]) for i in (1, 4) for line in shown] == pytest.approx(list(numbers.loc[slopes, "published"]))


def test_every_claim_has_its_verdict_and_conditions(tree: Element, results: Path) -> None:
    listed = {line[0]: line for line in table(tree, "all-claims")}
    lbd = claims(Recorded(pd.DataFrame(), {}, 0.0, pd.Series(dtype=float), 0.0, {}, 0.0))
    assert list(listed) == [claim.id for claim in (*PAPER.claims, *lbd)]
    for claim in [c for name in ("frr-96", "lbd-01") for c in Results(name, results / name).claims]:
        assert listed[claim["id"]][1:3] == [claim["text"], claim["verdict"]]
        (box,) = tree.findall(f".//div[@id='{claim['id']}']")
        conditions = [words(row[0]) for row in box.findall(".//tbody/tr")]
        assert conditions == [condition["quantity"] for condition in claim["conditions"]]
        assert " ".join(conditions[0].split()) in claim["conditions"][0]["evidence"]
    totals = table(tree, "verdicts")
    assert [sum(map(int, line[2:6])) for line in totals] == [int(line[1]) for line in totals] == [17, 20]


def test_the_distance_of_a_table_is_its_mean_absolute_error(tree: Element, results: Path) -> None:
    errors = {
        (f"Table {2 * i + 1 + j}", metric): one["mean_absolute_error"][metric]
        for i, one in enumerate(json.loads((results / "frr-96" / "report.json").read_text())["tables"])
        for j, metric in enumerate(("efficiency", "fairness"))
    }
    shown = {(line[1], line[2]): float(line[4]) for line in table(tree, "distances") if line[0] == "frr-96"}
    assert shown == pytest.approx(errors, abs=6e-4)


def test_sensitivity_shows_every_variant_of_the_folder_or_of_the_package(tree: Element) -> None:
    shown = [line[0] for line in table(tree, "frr-96-sensitivity-variants")]
    assert shown == ["as reproduced", *(variant.name for variant in PAPER.variants)]
    (lead,) = tree.findall(".//section[@id='lbd-01-sensitivity']/p")
    assert words(lead).startswith("These numbers come with longpipe: longpipe reproduce lbd-01 --sensitivity computed")
    assert table(tree, "lbd-01-sensitivity-variants")[0][0] == "published"


def test_downloads_contain_the_files(tree: Element, results: Path) -> None:
    found: dict[tuple[str, str], bytes] = {}
    for section in ("frr-96", "lbd-01"):
        for a in tree.findall(f".//section[@id='{section}-data']//a[@download]"):
            media, _, content = a.attrib["href"].partition(",")
            assert media in ("data:text/csv;base64", "data:application/json;base64")
            found[section, a.attrib["download"]] = base64.b64decode(content)
    for (section, name), decoded in found.items():
        assert decoded == (results / section / name).read_bytes()
    tables = {(path.parent.name, path.name) for path in results.glob("*/*.csv")}
    assert set(found) == tables | {("frr-96", "report.json"), ("lbd-01", "report.json")}


def test_provenance_names_version_seeds_machine_and_every_scenario(tree: Element, results: Path) -> None:
    (facts,) = tree.findall(".//section[@id='frr-96-data']/dl")
    shown = {words(row[0]): words(row[1]) for row in facts}
    record = records(results / "frr-96")[Part.REPRODUCTION]
    assert shown["longpipe"] == record["software"]["longpipe"]
    assert shown["engine"] == record["engine"] == _core.__engine__
    assert shown["seeds"] == "1 to 2"
    assert shown["processor"] == record["machine"]["processor"]
    cells = frr_96.PAPER.cells()
    listed = table(tree, "frr-96-scenarios")
    assert {line[0]: line[1] for line in listed} == {name: one.digest()[:16] for name, one in cells.items()}
    (first, *_) = tree.findall(".//figure[@id='frr-96-scenarios']//tbody//a")
    text = base64.b64decode(first.attrib["href"].partition(",")[2]).decode()
    assert Scenario.from_toml(text).digest() == cells[words(first)].digest()


def test_every_statement_has_a_verdict_and_a_location(tree: Element) -> None:
    for paper in ("frr-96", "lbd-01"):
        shown = {line[0]: line for line in table(tree, f"{paper}-statements")}
        assert list(shown) == [one.id for one in statements(paper)]
        assert {line[3] for line in shown.values()} <= {"holds", "in part", "undecided", "fails", "not testable"}
        assert all(line[1] and line[2] and line[5] for line in shown.values())


def test_highlighted_difference_links_to_its_reason(tree: Element) -> None:
    (figure,) = tree.findall(".//figure[@id='frr-96-table-1-efficiency']")
    far = [cell for cell in figure.iter("td") if "far" in cell.attrib.get("class", "").split()]
    reasons = [item.attrib["id"] for item in figure.findall("ol/li")]
    assert far
    assert {cell.findall("a")[0].attrib["href"] for cell in far} == {f"#{name}" for name in reasons}


def test_colors_of_figures_have_contrast_in_dark_mode(results: Path) -> None:
    palette = Palette()
    for path in results.glob("*/*.svg"):
        inline(path.read_text(), path.stem, palette)
    assert {"#0072b2", "#d55e00"} < palette.colors
    for color in palette.colors - {"#ffffff"}:
        # Elements that have low contrast on white, such as a grid, may also have low contrast in dark mode.
        assert contrast(in_the_dark(color), DARK_CARD) >= min(3.0, contrast(color, "#ffffff")), color
    assert in_the_dark("#ffffff") == DARK_CARD
    assert contrast(in_the_dark("#000000"), DARK_CARD) > 12


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_click_on_a_heading_sorts(text: str, tmp_path: Path) -> None:
    script = """
      const table = document.querySelector("#frr-96-table-1-efficiency table");
      const column = 5, heads = table.tHead.rows[1].cells;
      const values = () => [...table.tBodies[0].rows].map((row) => row.cells[column].dataset.value);
      const found = [];
      for (const _ of [1, 2]) { heads[column].firstElementChild.click(); found.push(values()); }
      const mark = heads[column].getAttribute("aria-sort");
      document.body.innerHTML = "<pre>" + JSON.stringify({ found, mark }) + "</pre>";
    """
    path = tmp_path / "page.html"
    path.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", f"--user-data-dir={tmp_path}", "--dump-dom", path.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    match = re.search(r"<pre>(.*)</pre>", shown)
    assert match
    sorted_ = json.loads(match[1])
    rising, falling = ([float(value) for value in values] for values in sorted_["found"])
    assert len(rising) == 8
    assert rising == sorted(rising)
    assert falling == sorted(falling, reverse=True)
    assert sorted_["mark"] == "descending"


def test_folder_is_current_until_one_of_its_files_changes(results: Path, tmp_path: Path) -> None:
    folder = tmp_path / "frr-96"
    shutil.copytree(results / "frr-96", folder)
    assert is_current(folder, Part.REPRODUCTION, "frr-96", 2)
    # The default number of seeds for the paper is different.
    assert not is_current(folder, Part.REPRODUCTION, "frr-96", None)
    assert not is_current(folder, Part.REPRODUCTION, "gr-97", 2)
    record = json.loads((folder / "provenance.json").read_text())
    record["reproduction"]["code"] = "0" * 64
    (folder / "provenance.json").write_text(json.dumps(record))
    assert not is_current(folder, Part.REPRODUCTION, "frr-96", 2)
    shutil.copy(results / "frr-96" / "provenance.json", folder)
    (folder / "tables.csv").write_text("")
    assert not is_current(folder, Part.REPRODUCTION, "frr-96", 2)
    (folder / "tables.csv").unlink()
    assert not is_current(folder, Part.REPRODUCTION, "frr-96", 2)


def test_current_report_is_shown_again_and_reported(results: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (results / "lbd-01").iterdir()}
    again = run("reproduce", "lbd-01", "--out", "lbd-01", cwd=results)
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith((results / "lbd-01" / "report.txt").read_text())
    assert "Unchanged since 20" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in (results / "lbd-01").iterdir()} == before
    as_json = run("reproduce", "lbd-01", "--out", "lbd-01", "--json", "-", cwd=results)
    assert as_json.stdout == (results / "lbd-01" / "report.json").read_text()
    done = run("report", "lbd-01", "--results", ".", "-o", "page.html", cwd=results)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Report: page.html\n", "")
    assert 'id="lbd-8"' in (results / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["lbd-10", "--store", "none.db"],
            "store: none.db: no such file; needs the store of an earlier run; papers are frr-96",
        ),
        ([], "--results: results has no paper; needs longpipe reproduce PAPER, or the name of a study"),
        (["lbd-01"], "results/lbd-01: no provenance.json of lbd-01; needs longpipe reproduce lbd-01"),
        (["lbd-01", "-o", "/dev/null/x.html"], "--output: /dev/null cannot be written (not a directory)"),
        (["lbd-01", "-o", "."], "--output: . is a directory; needs a file name"),
    ],
)
def test_bad_input_is_rejected_in_one_line_with_status_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    refused = run("report", *arguments, cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"error: {message}")
    assert refused.stderr.count("\n") == 1


def test_missing_and_foreign_files_are_named(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results / "lbd-01", tmp_path / "lbd-01")
    (tmp_path / "lbd-01" / "numbers.csv").unlink()
    with pytest.raises(ScenarioError, match=r"numbers\.csv: missing; needs longpipe reproduce lbd-01"):
        page([Results("lbd-01", tmp_path / "lbd-01")])
    with pytest.raises(ScenarioError, match=r"^x: not a figure of this version"):
        inline("<svg></svg>", "x", Palette())


def test_condition_is_plotted_at_its_values() -> None:
    condition = {
        "quantity": "x", "above": 0.0, "below": None, "mean": 0.5, "low": 0.25, "high": 0.75, "compared": 1.0,
        "source": "published", "verdict": "holds",
    }  # fmt: skip
    record = {"id": "a-1", "text": "t", "verdict": "holds", "conditions": [condition]}
    (finding,) = claims_of("", [record]).claims[0].findings
    assert finding.span is not None
    assert finding.span.interval is not None
    assert finding.span.compared is not None
    low, high = finding.span.interval
    # The axis ranges from 0 to 1, with a margin of 15 % on both sides.
    assert finding.span.accepted == pytest.approx((0.15 / 1.3, 1.0))
    assert (low, finding.span.mean, high) == pytest.approx((0.4 / 1.3, 0.65 / 1.3, 0.9 / 1.3))
    assert finding.span.compared == pytest.approx(1.15 / 1.3)
    assert finding.span.words == "x: 0.5, interval 0.25 to 0.75; wanted > 0; published 1"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.1235, "0.123"), (-0.5, "\N{MINUS SIGN}0.5"), (0.0, "0"), (1e-17, "0"), (12345.6, "12\N{NARROW NO-BREAK SPACE}346"),
        (0.0002, "2.0e\N{MINUS SIGN}4"), (float("nan"), "\N{EN DASH}"), (float("inf"), "∞"), (100.0, "100"),
    ],
)  # fmt: skip
def test_numbers_have_significant_digits_only(value: float, shown: str) -> None:
    assert number(value) == shown


def test_p_values_have_one_format_on_pages_and_in_analyse() -> None:
    frame = pd.DataFrame({"component": ["a", "b", "c", "error"], "p_value": [2.7e-18, 1.2e-12, 0.0314159, math.nan]})
    shown = grid(frame, "variation", "Allocation of variation")
    assert [row[1].text for row in shown.rows] == ["<.0001", "<.0001", ".0314", "\N{EN DASH}"]
    # The columns are sorted by value.
    assert [row[1].value for row in shown.rows] == [2.7e-18, 1.2e-12, 0.0314159, None]


def test_download_contains_the_bytes_of_its_file() -> None:
    found = download("a.csv", b"x\n1\n")
    assert base64.b64decode(found.href.partition(",")[2]) == b"x\n1\n"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Returns a study with a replicated factorial design, finished except for one failed run."""
    base = Scenario(defaults="1996", name="lan", duration="20 ms").with_(
        **{"switch.ties": "random", "network.sources": 2}
    )
    factors = [
        Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp"),
        Factor.over("switch.policy", {"UBR": "tail-drop", "EPD": {"kind": "epd", "threshold": 0.8}}, "policy"),
    ]
    design = Design.full_factorial(base, factors, replications=3)
    found = Study(design, tmp_path_factory.mktemp("study") / "store.db", "flavors <&> policies")
    scenarios = design.scenarios
    jobs = [(scenarios[run.point - 1], run.seed) for run in design.runs()]
    complete_study(jobs[:-1], found.store, workers=1)
    found.store.fail(*jobs[-1], "out of luck")
    return found


def test_page_of_a_study_has_all_sections(study: Study) -> None:
    text = study_page.page(study)
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    test_the_page_needs_no_network(text, tree)
    assert words(tree.find(".//h1")) == "flavors <&> policies"
    assert "11 of 12 runs finished, 1 failed" in words(tree.find(".//main/header/p"))
    assert table(tree, "factors") == [
        ["tcp", "vanilla", "tcp.recovery = vanilla"],
        ["tcp", "reno", "tcp.recovery = reno"],
        ["policy", "UBR", "switch.policy = tail-drop"],
        ["policy", "EPD", "switch.policy.kind = epd; switch.policy.threshold = 0.8"],
    ]
    assert [line[0] for line in table(tree, "settings")] == ["duration", "network.sources"]
    runs = study.frame()
    for line, (levels, group) in zip(table(tree, "points"), runs.groupby(["tcp", "policy"], sort=False), strict=True):
        assert line[:2] == list(levels)
        assert line[2] == str(len(group))
        assert float(line[3].partition(" ")[0]) == pytest.approx(group["efficiency"].mean(), abs=6e-4)
    assert table(tree, "failed-runs") == [["4", "reno", "EPD", "3", "out of luck"]]
    components = [line[0] for line in table(tree, "analysis-efficiency-variation")]
    # If a run is missing, the main effects are still reported.
    assert components[3:6] == ["tcp", "policy", "seed"]
    assert tree.find(".//figure[@id='analysis-efficiency-figure-main_effects']") is not None
    digests = {scenario.digest() for scenario in study.scenarios()}
    assert {line[1] for line in table(tree, "scenarios")} == digests
    data = {
        a.attrib["download"]: a.attrib["href"].partition(",")[2] for a in tree.findall(".//ul[@class='downloads']//a")
    }
    shown = pd.read_csv(BytesIO(base64.b64decode(data["runs.csv"])))
    assert list(shown["efficiency"].dropna()) == pytest.approx(list(runs["efficiency"]))
    assert Scenario.from_toml(base64.b64decode(data["scenario.toml"]).decode()) == study.design.base


def test_unanalysable_study_states_its_reason(tmp_path: Path) -> None:
    base = Scenario(defaults="1996", name="one", duration="5 ms").with_(**{"switch.buffer": "12 cells"})
    design = Design.full_factorial(base, [Factor.over("network.sources", [2, 3], "sources")])
    study = Study(design, tmp_path / "store.db")
    before = study_page.page(study)
    assert "0 of 2 runs finished, 2 waiting" in before
    study.run(workers=1)
    text = study_page.page(study, ["efficiency"])
    html5lib.HTMLParser(strict=True).parse(text)
    assert "No analysis of variation: order: 1 leaves no degrees of freedom" in text
    with pytest.raises(ScenarioError, match=r"^--response: 'effciency' is not a measure; did you mean 'efficiency'\?"):
        study_page.page(study, ["effciency"])


def test_a_study_is_reported_by_name(study: Study, tmp_path: Path) -> None:
    done = run("report", study.name, "--store", study.store.url, "-o", "page.html", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Report: page.html\n", "")
    unknown = run("report", "flavors", "--store", study.store.url, cwd=tmp_path)
    assert (unknown.returncode, unknown.stdout, unknown.stderr.count("\n")) == (2, "", 1)
    assert unknown.stderr.startswith("error: study: 'flavors' is not in ")
    two = run("report", study.name, "lbd-01", cwd=tmp_path)
    assert two.returncode == 2
    assert two.stderr.startswith("error: STUDY: flavors <&> policies lbd-01; needs one study, or papers alone")
