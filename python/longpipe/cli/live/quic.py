"""`longpipe live quic`: scenario strings of quic-network-simulator."""

import os
import signal
from typing import TYPE_CHECKING

import typer

from longpipe.cli.toolkit.safe import Console
from longpipe.cli.toolkit.storing import SeedOption
from longpipe.errors import ScenarioError

if TYPE_CHECKING:
    from longpipe.live import Certificate
    from longpipe.live.hosts import Plan

# Addresses of client and server in quic-network-simulator.
ADDRESSES = (("193.167.0.100", "fd00:cafe:cafe:0::100"), ("193.167.100.100", "fd00:cafe:cafe:100::100"))


def quic(
    text: str | None = typer.Argument(
        None, metavar="[SCENARIO]", help="'simple-p2p --delay=15ms ...'; default: $SCENARIO."
    ),
    client: str | None = typer.Option(None, metavar="COMMAND", help="Command at the client, run by sh."),
    server: str | None = typer.Option(None, metavar="COMMAND", help="Command at the server, run by sh."),
    between: tuple[str, str] | None = typer.Option(
        None, metavar="INTERFACE INTERFACE", help="Carry packets between two networks."
    ),
    seed: SeedOption = 1,
) -> None:
    """Run QUIC or other programs over the paths of quic-network-simulator, which quic-interop-runner uses.

    Scenarios: simple-p2p, drop-rate, droplist, blackhole, tcp-cross-traffic. The run ends with the client's command;
    with --between eth0 eth1, as in quic-interop-runner's sim, it ends on a signal. Linux only.
    """
    from longpipe.live import plan
    from longpipe.live.machine import check_machine
    from longpipe.live.quic import CLIENT, SERVER, scenario

    if (client is None) == (between is None):
        raise ScenarioError("--client: needs a command, or --between the interfaces of two networks")
    path = scenario(text or os.environ.get("SCENARIO", ""), seed=seed)
    check_machine()
    planned = plan(path, (CLIENT, SERVER))
    if between is not None:
        return _show(_carried(planned, between, seed))
    from longpipe.live import run

    commands = {CLIENT: ["/bin/sh", "-c", str(client)]}
    if server is not None:
        commands[SERVER] = ["/bin/sh", "-c", server]
    done = run(planned, commands, seed=seed)
    _show(done.certificate)
    if done.status != 0:
        raise typer.Exit(done.status)
    return None


def _carried(planned: "Plan", interfaces: tuple[str, str], seed: int) -> "Certificate":
    """Carries packets between the interfaces until a signal arrives. Returns the certificate."""
    from longpipe.live.between import between
    from longpipe.live.quic_wait import ready_to_be_waited_for, wait_for_server

    received: list[int] = []
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda number, _: received.append(number))
    if awaited := os.environ.get("WAITFORSERVER"):
        wait_for_server(awaited)
    with ready_to_be_waited_for():
        return between(planned, interfaces, ADDRESSES, lambda: bool(received), seed=seed)


def _show(certificate: "Certificate") -> None:
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in certificate.lines():
        errors.print(f"live: {line}", markup=False)
