"""`longpipe validate packetdrill`: tests the TCP sender with packetdrill scripts."""

import os
from pathlib import Path

import typer

from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError

# Exit status if a script does not pass.
DIFFERENT = 1


def packetdrill(
    scripts: list[Path] = typer.Argument(
        metavar="DIR|FILE...", help="Scripts, or folders of them: all *.pkt, at any depth."
    ),
) -> None:
    """Run packetdrill scripts, such as Linux's own, against longpipe's TCP sender, and report the first difference.

    The sender is that of Linux 6, except for what a script sets. Handshakes are assumed to have taken place. A
    statement that longpipe cannot interpret is reported with its line. The exit status is 1 unless all scripts pass.
    """
    # Imported here because the engine takes a while to load.
    from longpipe_evidence.validate.packetdrill import run_script

    outcomes = [run_script(path, name) for path, name in _files(scripts)]
    for outcome in outcomes:
        echo(outcome)
    passed = sum(outcome.verdict == "pass" for outcome in outcomes)
    echo(f"{passed} of {len(outcomes)} pass")
    if passed < len(outcomes):
        raise typer.Exit(DIFFERENT)


def _files(scripts: list[Path]) -> list[tuple[Path, str]]:
    """Returns the scripts, each with the name under which it is shown: its path within the given folder."""
    files = []
    for path in scripts:
        if path.is_file():
            files.append((path, path.name))
            continue
        scripts_in_folder = sorted(path.rglob("*.pkt"))
        if not scripts_in_folder:
            raise ScenarioError(f"{os.fspath(path)}: no scripts; needs a file, or a folder that holds *.pkt")
        files += [(file, str(file.relative_to(path))) for file in scripts_in_folder]
    return files
