"""`longpipe study export --bundle` and `longpipe study rerun`."""

from pathlib import Path

import typer

from longpipe.cli.toolkit.console import terminal
from longpipe.cli.toolkit.progress import RunBar, Waiting
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import opened
from longpipe.errors import ScenarioError
from longpipe.store import engine_version
from longpipe.study import Study, bundle

# Maximum number of differing runs that are listed.
MAX_SHOWN = 10


def export(name: str, url: str | None, path: Path) -> None:
    """Writes a study as a bundle."""
    with opened(url, readonly=True) as store, Waiting(f"exporting {name}"):
        written = bundle.write(Study.open(name, store), path)
    trust = " --trust" if written.controls else ""
    terminal().print(
        f"{len(written.runs)} runs: {path}; repeat them with: longpipe study rerun {path}{trust}",
        markup=False,
        soft_wrap=True,
    )


def rerun(path: Path, workers: int | None, memory: str | None, *, trust: bool) -> None:
    """Repeats the runs of a bundle, and prints the number of runs with bit-identical results."""
    content = bundle.read(path)
    if content.controls and not trust:
        names = ", ".join(control.name for control in content.controls.values())
        raise ScenarioError(f"{path}: its controllers execute with your rights: {names}; needs --trust to run them")
    if content.engine != engine_version():
        echo(
            f"warning: made by engine {content.engine} of longpipe {content.version}; this is engine {engine_version()}"
            f", whose results may differ; install longpipe {content.version} from a clone or a wheel of that version",
            err=True,
        )
    if not content.has_checksums:
        echo(
            f"warning: {path} is of an earlier release: changes of its design, points and results.csv are not detected",
            err=True,
        )
    with RunBar(content.name) as bar:
        done = bundle.rerun(content, workers, memory, lambda count: bar.update(count / len(content.runs)))
        differing = [(run, here) for run, here in done if here != run.state_hash]
    console = terminal()
    for run, here in sorted(differing, key=lambda one: (one[0].point, one[0].replication))[:MAX_SHOWN]:
        outcome = here if here.startswith("not run") else f"{here} instead of {run.state_hash}"
        console.print(f"point {run.point}, seed {run.seed}: {outcome}", markup=False, soft_wrap=True)
    same = len(content.runs) - len(differing)
    console.print(
        f"{same} of {len(content.runs)} runs of {content.name} are bit-identical", markup=False, soft_wrap=True
    )
    if differing:
        raise typer.Exit(1)
