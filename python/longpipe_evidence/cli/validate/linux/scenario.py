"""`longpipe validate linux scenario`: compares scenarios with Linux over the same path."""

from pathlib import Path

import typer

from longpipe.cli.toolkit.quantities import share
from longpipe.cli.toolkit.safe import echo

DIFFERENT = 1


def scenario(
    files: list[Path] = typer.Argument(metavar="FILE.toml...", help="Scenarios with one bottleneck."),
    seeds: int = typer.Option(3, min=1, help="Number of runs of each scenario, in Linux and in longpipe."),
    first_seed: int = typer.Option(1, min=0, help="Seed of the first run; each further run adds 1."),
    within: float = typer.Option(
        0.1, metavar="SHARE", parser=share, help="Accepted difference of each flow's mean goodput."
    ),
) -> None:
    """Run scenarios with the TCP of Linux 6.1, in virtual time, and with longpipe; compare the goodput of each flow.

    Accepts scenarios of greedy flows over a dumbbell with the profile linux-6, such as the answers of longpipe attack.
    The exit status is 0 if the mean goodput over the seeds is within --within of Linux's, otherwise 1. Needs Debian's
    package user-mode-linux, which is fetched if it is not installed.
    """
    from longpipe import Scenario
    from longpipe.errors import ScenarioError
    from longpipe_evidence.validate.linux_scenario import case_of, replay

    scenarios = [Scenario.from_toml(file) for file in files]
    for file, scenario in zip(files, scenarios, strict=True):
        # Read all files first, so that errors are reported before the first long run.
        try:
            case_of(scenario)
        except ScenarioError as error:
            raise ScenarioError(*(f"{file}: {problem}" for problem in error.problems)) from None
    differing = False
    for file, scenario in zip(files, scenarios, strict=True):
        results = replay(scenario, range(first_seed, first_seed + seeds)).frame
        for row in results.to_dict("records"):
            linux, simulated = (
                f"{row[f'{name}_mbps']:.3g} ({row[f'{name}_least_mbps']:.3g} to {row[f'{name}_most_mbps']:.3g})"
                for name in ("linux", "longpipe")
            )
            margin = f" ± {row['margin']:.1%}" if seeds > 1 else ""
            echo(f"{file}, {row['control']}: {simulated} Mbit/s, Linux {linux}: {row['difference']:+.1%}{margin}")
        differing |= bool((results["difference"].abs() > within).any())
    verdict = "differ: by more than" if differing else "all agree:"
    echo(f"{verdict} {within:.0%}; means of {seeds} runs with their range, differences with 95 % intervals")
    if differing:
        raise typer.Exit(DIFFERENT)
