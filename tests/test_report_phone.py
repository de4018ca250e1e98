import json
import re
import shutil
import subprocess
from html import escape
from pathlib import Path
from typing import Any

import html5lib
import pytest
from matplotlib.text import Annotation

from longpipe import Design, Factor, Graph, Scenario, Study, pictures
from longpipe.report import study as study_page
from longpipe.scenario import Switch

CHROMIUM = shutil.which("chromium")
WIDTH = 390

LINKS = [
    ("a", "s1", "100 Mbit/s", "1 ms"),
    ("s1", "s2", "10 Mbit/s", "5 ms"),
    ("s2", "b", "100 Mbit/s", "1 ms"),
    ("c", "s2", "100 Mbit/s", "1 ms"),
]
FLOWS = {"long": ("a", "b"), "short": ("c", "b")}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Returns a study with a graph as its network, with measures by flow and by port."""
    base = Scenario(
        defaults="1996",
        name="lot",
        duration="300 ms",
        framing="ip",
        network=Graph.of(LINKS, FLOWS),
        switch=Switch(buffer="1 BDP"),
    )
    factors = [
        Factor.over("tcp.recovery", ["reno", "sack"], "tcp"),
        Factor.over("switch.buffer", ["0.2 BDP", "1 BDP", "2 BDP"], "buffer"),
    ]
    measures = ("rate=flow:long.throughput", "wait=port:s1->s2.delay")
    design = Design.full_factorial(base, factors, replications=2, measures=measures)
    found = Study(design, tmp_path_factory.mktemp("phone") / "store.db", "lot")
    found.run(workers=1)
    return found


@pytest.fixture(scope="module")
def text(study: Study) -> str:
    return study_page.page(study)


@pytest.fixture(scope="module")
def tree(text: str) -> Any:  # noqa: ANN401 - an element
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)


def test_results_precede_the_design(tree: Any) -> None:  # noqa: ANN401
    headings = ["".join(heading.itertext()) for heading in tree.findall(".//main/section/h2")]
    assert headings == ["Results", "What explains rate", "What explains wait", "Design", "Provenance and data"]


def test_a_graph_is_drawn_and_listed_in_folded_lists(tree: Any, text: str) -> None:  # noqa: ANN401
    assert tree.find(".//figure[@id='network']//{*}svg") is not None
    folded = {figure.attrib["id"]: figure for figure in tree.findall(".//details/figure")}
    rows = [["".join(cell.itertext()) for cell in row] for row in folded["links"].findall(".//tbody/tr")]
    assert ["s1->s2", "10 Mbit/s", "5 ms"] in rows
    assert ["s2->s1", "10 Mbit/s", "5 ms"] in rows
    rows = [["".join(cell.itertext()) for cell in row] for row in folded["flows"].findall(".//tbody/tr")]
    assert rows[0] == ["long", "greedy", "a → s1 → s2 → b"]
    assert "return_rate&#39;: None" not in text


def test_each_response_is_drawn_over_the_factor_of_numbers(tree: Any) -> None:  # noqa: ANN401
    for response in ("rate", "wait"):
        words = "".join(tree.find(f".//figure[@id='curve-{response}']/figcaption").itertext())
        assert words == f"lot: {response} over buffer, means of 2 replications, 95 % intervals"


def test_tables_have_mbit_s_and_ms(tree: Any, study: Study) -> None:  # noqa: ANN401
    table = tree.find(".//figure[@id='points']//table")
    heads = [head.attrib["data-head"] for head in table.findall(".//thead//th")]
    assert heads[3:5] == ["rate [Mbit/s] ±95\N{NO-BREAK SPACE}%", "wait [ms] ±95\N{NO-BREAK SPACE}%"]
    first = table.find(".//tbody/tr")
    means = study.frame().groupby("point")[["rate", "wait"]].mean().loc[1]
    assert float(first[3].attrib["data-value"]) == pytest.approx(means["rate"] / 1e6)
    assert float(first[4].attrib["data-value"]) == pytest.approx(means["wait"] * 1e3)


def test_a_network_is_drawn_from_left_to_right(study: Study) -> None:
    figure = pictures.network(study.design.base)
    at = {note.get_text(): note.xy for note in figure.axes[0].texts if isinstance(note, Annotation)}
    assert at["a"][0] < at["s1"][0] < at["s2"][0] < at["b"][0]
    assert at["c"][0] < at["s2"][0]
    assert "10 Mbit/s\n5 ms" in at
    assert len({at[name] for name in ("a", "b", "c", "s1", "s2")}) == 5


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_phone_page_fits_the_screen_width(text: str, tmp_path: Path) -> None:
    found = _on_a_phone(
        text,
        """
        const boxes = [...page.querySelectorAll(".scroll")].filter((box) => box.checkVisibility());
        const hidden = (box) => box.scrollWidth > box.clientWidth + 1;
        return {
          page: page.documentElement.scrollWidth,
          words: Math.max(...[...page.querySelectorAll("h1, h2, h3, figcaption, .stacked td")]
            .map((one) => one.getBoundingClientRect().right)),
          wide: boxes.filter(hidden).length,
          unmarked: boxes.filter((box) => hidden(box) !== box.classList.contains("more-right")).length,
          led: getComputedStyle(page.querySelector(".stacked td[data-head='fields']"), "::before").content,
        };
        """,
        tmp_path,
    )
    assert found["page"] <= WIDTH
    assert found["words"] <= WIDTH
    assert found["wide"] > 0
    assert found["unmarked"] == 0
    assert found["led"].startswith('"fields')


def _on_a_phone(text: str, script: str, folder: Path) -> dict[str, Any]:
    """Runs a script on a page in a frame as wide as a phone; `page` is the document. Returns the script's result."""
    frame = f'<iframe width="{WIDTH}" height="800" style="border:0" srcdoc="{escape(text)}"></iframe>'
    measure = f"""<script>
      const frame = document.querySelector("iframe");
      const measure = (page) => {{ {script} }};
      // The page that is dumped waits for its frame.
      frame.addEventListener("load", () => {{
        const found = document.createElement("pre");
        found.textContent = JSON.stringify(measure(frame.contentDocument));
        document.body.replaceChildren(found);
      }});
    </script>"""
    (folder / "phone.html").write_text(f"<!DOCTYPE html><body>{frame}{measure}</body>", encoding="utf-8")
    address = (folder / "phone.html").as_uri()
    options = ["--headless", "--no-sandbox", f"--user-data-dir={folder}", "--dump-dom"]
    done = subprocess.run([str(CHROMIUM), *options, address], capture_output=True, text=True, timeout=120, check=True)
    match = re.search(r"<pre>(.*)</pre>", done.stdout)
    assert match, done.stdout[-500:]
    measured: dict[str, Any] = json.loads(match[1])
    return measured
