"""Scripts in packetdrill's language, written for longpipe: transmissions, their times, and errors."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from longpipe.cli import app
from longpipe_evidence.validate.packetdrill import run_script

SCRIPTS = Path(__file__).parent / "data" / "packetdrill"
OPENING = """\
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 8>
   +0 > S. 0:0(0) ack 1 <...>
  +.1 < . 1:1(0) ack 1 win 1024
   +0 write(4, ..., 10000) = 10000
"""


def outcome(tmp_path: Path, *lines: str, opening: str = OPENING) -> str:
    """Returns the outcome, as one line, of a script that begins with `opening`."""
    script = tmp_path / "script.pkt"
    script.write_text(opening + "\n".join(lines) + "\n", encoding="utf-8")
    return str(run_script(script, script.name))


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.pkt")), ids=lambda path: path.stem)
def test_senders_send_what_the_rfcs_specify(script: Path) -> None:
    found = run_script(script)
    assert found.verdict == "pass", str(found)


def test_the_first_difference_is_named_with_its_line(tmp_path: Path) -> None:
    sent = "+0 > P. 1:10001(10000) ack 1"
    assert outcome(tmp_path, sent) == "script.pkt: pass"
    assert outcome(tmp_path, "+0 > P. 1:9501(9500) ack 1") == (
        "script.pkt:6: differs: script: 1:9501 at 0.100000 s; 1:10001 at 0.100000 s"
    )
    assert outcome(tmp_path, "+.01 > P. 1:10001(10000) ack 1") == (
        "script.pkt:6: differs: script: 1:10001 at 0.110000 s within 0.004000 s; at 0.100000 s"
    )
    assert outcome(tmp_path, sent, "+.05 > . 10001:11001(1000) ack 1") == (
        "script.pkt:7: differs: script: 10001:11001 at 0.150000 s; no segment is sent by then"
    )
    assert outcome(tmp_path, sent, "+0 %{", "", "assert tcpi_snd_cwnd == 11", "}%") == (
        "script.pkt:9: differs: script: tcpi_snd_cwnd == 11; tcpi_snd_cwnd is 10"
    )
    assert outcome(tmp_path, sent, "+.1 < . 1:1(0) ack 20001 win 1024") == (
        "script.pkt:7: differs: script: +.1 < . 1:1(0) ack 20001 win 1024: acknowledges data that were never sent"
    )


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("+0 fnord 7", "+0 fnord 7"),
        ("+0 `tc qdisc replace dev tun0 root pfifo limit 0`", None),
        ("+0 < . 1:1001(1000) ack 1 win 1024", None),
        ("+0 < . 1:1(0) ack 1 win 0", None),
        ("+0 sendfile(4, 5, [0], 5) = 5", None),
        ("+0 %{ import os }%", "import os"),
        ("+0 %{ assert __import__('os').getcwd() }%", "__import__('os').getcwd()"),
        ("+0 %{ assert fnord == 3 }%", "fnord == 3"),
        ("+0 %{ a = (1,) * 300000000 }%", "(1,) * 300000000: an operand is no number"),
        ("+0 %{ a = 2**99999999 }%", "2 ** 99999999"),
        ("--fnord=3", "--fnord=3"),
    ],
)
def test_unsupported_statement_is_named_with_file_and_line(tmp_path: Path, statement: str, named: str | None) -> None:
    assert outcome(tmp_path, "", statement) == f"script.pkt:7: not understood: {named or statement}"


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("sysctl -q net.ipv4.tcp_fnord=1", "sysctl -q net.ipv4.tcp_fnord=1"),
        ("rm -rf /", "rm -rf /"),
    ],
)
def test_shell_commands_are_not_run_and_unsupported_ones_are_named(tmp_path: Path, command: str, named: str) -> None:
    opening = f"`../common/defaults.sh\n{command}`\n" + OPENING
    assert outcome(tmp_path, opening=opening) == f"script.pkt:2: not understood: {named}"


def test_unknown_control_is_reported_in_one_line(tmp_path: Path) -> None:
    opening = "`sysctl net.ipv4.tcp_congestion_control=fnord`\n" + OPENING
    found = outcome(tmp_path, opening=opening)
    assert found.startswith("script.pkt:5: not understood: tcp.congestion: 'fnord'; ")
    assert "\n" not in found


def test_assertions_of_missing_features_are_counted(tmp_path: Path) -> None:
    found = outcome(tmp_path, "+0 %{ assert tcpi_reordering == 3 }%")
    assert found == "script.pkt: pass; 1 assertions of tcpi_reordering not checked"


def test_the_command_prints_a_line_each_and_fails_unless_all_pass(tmp_path: Path) -> None:
    run = CliRunner().invoke
    found = run(app, ["validate", "packetdrill", str(SCRIPTS)])
    count = len(list(SCRIPTS.glob("*.pkt")))
    assert found.exit_code == 0
    assert found.output.splitlines()[-1] == f"{count} of {count} pass"
    (tmp_path / "own.pkt").write_text("fnord\n", encoding="utf-8")
    found = run(app, ["validate", "packetdrill", str(tmp_path), str(SCRIPTS / "slow-start.pkt")])
    assert found.exit_code == 1
    assert found.output == "own.pkt:1: not understood: fnord\nslow-start.pkt: pass\n1 of 2 pass\n"
