"""Tables are complete on terminals and in pipes of any width."""

import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from commands import run
from longpipe import Design, Factor, Scenario, Study
from longpipe.cli.toolkit import safe
from longpipe.cli.toolkit.console import show_table

FACTORS = [
    Factor.over("switch.buffer", ["500 cells", "1000 cells"], "buffer"),
    Factor.over("tcp.recovery", ["newreno", "sack"], "recovery"),
]
MEASURES = [
    "bulk=flow:flow1.throughput",
    "rest=flow:flow2.throughput",
    "delay=port:switch1->switch2.delay",
    "flow:*.resent",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a store with a study of two factors and four measures."""
    path = tmp_path_factory.mktemp("console") / "runs.db"
    base = Scenario(defaults="1996", name="lan", duration="50 ms").with_(start={"kind": "random", "over": "10 ms"})
    study = Study(Design.full_factorial(base, FACTORS, replications=2, measures=MEASURES), path)
    study.run(workers=1)
    study.close()
    return path


def printed(store: Path, *arguments: str, columns: int | None) -> list[str]:
    # If COLUMNS is empty, it has no effect.
    environment = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": str(columns or "")}
    done = run(*arguments, "--store", store, environment=environment)
    assert done.returncode == 0, done.stderr
    return [line.rstrip() for line in done.stdout.splitlines()]


def table_of(columns: int, rows: Sequence[tuple[str, ...]], width: int, heads: int) -> list[str]:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number in range(columns):
        table.add_column(f"column{number}", no_wrap=number >= heads)
    for row in rows:
        table.add_row(*row)
    text = StringIO()
    show_table(Console(file=text, width=width), table, heads)
    return [line.rstrip() for line in text.getvalue().splitlines()]


@pytest.mark.parametrize("command", [("study", "run", "lan"), ("study", "show", "lan")])
def test_a_pipe_gets_the_whole_width(store: Path, command: tuple[str, ...]) -> None:
    lines = printed(store, *command, columns=None)
    (head,) = [line for line in lines if "buffer " in line and "recovery" in line]
    assert len(head) > 80
    for word in ("recovery", "bulk [Mbit/s]", "delay [ms]", "flow:*.resent [share]"):
        assert word in head
    rows = lines[lines.index(head) + 1 :]
    assert sum(bool(re.search(r"1000 cells +newreno +", row)) for row in rows) in (1, 2)


@pytest.mark.parametrize("width", [50, 80])
@pytest.mark.parametrize("command", [("study", "run", "lan"), ("study", "show", "lan")])
def test_narrow_terminal_shows_blocks_of_columns_with_names_and_factors(
    store: Path, command: tuple[str, ...], width: int
) -> None:
    whole = "\n".join(printed(store, *command, columns=None))
    lines = printed(store, *command, columns=width)
    assert max(map(len, lines)) <= width
    numbers = re.findall(r"\d+\.\d{4}", whole)
    assert sorted(re.findall(r"\d+\.\d{4}", "\n".join(lines))) == sorted(numbers)
    assert len(numbers) > 10
    rows = [line for line in lines if re.search(r"\d\.\d{4}", line)]
    assert all(re.search(r"(500|1000) cells +(newreno|sack) ", row) for row in rows)


def test_narrow_terminal_shows_flow_and_port_names(tmp_path: Path, store: Path) -> None:
    scenario = tmp_path / "lan.toml"
    scenario.write_text('name = "lan"\nduration = "200 ms"\n')
    lines = printed(store, "run", str(scenario), columns=40)
    for name in ("flow1", "flow5", "switch1->switch2", "all 5"):
        assert sum(line.startswith(name) for line in lines) >= 2
    assert not any("…" in line for line in lines)


def test_names_are_wrapped_between_words_only_if_necessary() -> None:
    rows = [("0.25 BDP of it", "12345678", "87654321")]
    assert table_of(3, rows, 26, 1) == [
        "column0         column1", "0.25 BDP of it  12345678", "", "column0         column2", "0.25 BDP of it  87654321",
    ]  # fmt: skip
    assert table_of(2, [("0.25 BDP", "12345678")], 17, 1)[:3] == [
        "column0  column1", "0.25     12345678", "BDP",
    ]  # fmt: skip
    # The table has no spaces at which it could be wrapped, so that it exceeds the width.
    assert table_of(2, [("unbreakable", "12345678")], 10, 1)[1] == "unbreakable  12345678"


def test_names_in_colons_are_not_replaced_by_emoji() -> None:
    text = StringIO()
    safe.Console(file=text).print("[bold]:bomb:[/].toml")
    assert text.getvalue() == ":bomb:.toml\n"


def test_title_and_caption_use_the_width_of_the_terminal() -> None:
    table = Table("a", title="Means and 95 % intervals of 3 replications", caption="2 of 3 points", box=None)
    table.add_row("1")
    text = StringIO()
    show_table(Console(file=text, width=80), table)
    first, *_, last = [line.rstrip() for line in text.getvalue().splitlines()]
    assert (first, last) == ("Means and 95 % intervals of 3 replications", "2 of 3 points")
