"""Names with control characters, which a terminal would obey, and with Rich's markup: both are shown as they are."""

from pathlib import Path

import pytest

from live_programs import IDLE, live
from longpipe.cli.safe import Console
from longpipe.errors import plain
from test_store_versions import longpipe

NAME = "\x1b[31mred\x9b2J\u202e"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x1b[2Jb", r"a\x1b[2Jb"), ("\x00\x7f\x9b", r"\x00\x7f\x9b"), ("\u202e", r"\u202e"), ("é 東 µs", "é 東 µs")],
)
def test_control_characters_are_escapes(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_console_passes_on_styles_but_no_control_character_of_a_text() -> None:
    console = Console(force_terminal=True, color_system="standard", highlight=False, width=80)
    with console.capture() as captured:
        console.print(f"[bold]{NAME}[/]", end="\n")
    assert captured.get().replace("\x1b[1m", "").replace("\x1b[0m", "") == f"{plain(NAME)}\n"


def test_errors_show_control_characters_as_escapes(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('"\\u001b[31mduration" = "1 s"\n')
    done = longpipe("run", tmp_path / "a.toml")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert r"\x1b[31mduration" in done.stderr


@pytest.mark.usefixtures("namespaces")
def test_a_name_is_no_markup_of_a_live_path(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "[/x]\\u001b[2J"\n' + IDLE)
    done = live(str(tmp_path / "a.toml"), "--", "true")
    assert (done.returncode, done.stderr.partition(", ")[0]) == (0, r"live: [/x]\x1b[2J")
