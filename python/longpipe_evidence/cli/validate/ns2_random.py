"""`longpipe validate ns2-random`: random drops in longpipe and in ns-2, and the rules that cause differences."""

import typer

from longpipe.cli.toolkit.outputs import check_output, is_stdout, write_output
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError, nearest

DIFFERENT = 1


def ns2_random(
    tcp: str | None = typer.Option(
        None, metavar="FLAVOR", help="Only this flavor: vanilla, tahoe, reno, newreno or sack."
    ),
    cases: int = typer.Option(20, min=1, help="Number of cases of each flavor."),
    seed: int = typer.Option(0, min=0, help="Number of the first case."),
    csv: str | None = typer.Option(None, metavar="FILE|-", help="Write every case as CSV; - is stdout."),
) -> None:
    """Draw drops, windows, queues, rates and options, run them in longpipe and ns-2, and count causes of differences.

    Exit status 0 if each case sends the same segments in the same order or ns-2 follows a rule that longpipe does not
    share before they differ, else 1. Needs ns-2, Debian's package ns2.
    """
    check_output("--csv", csv)
    import pandas as pd

    from longpipe.cli.toolkit.console import show_table, terminal, terminal_table
    from longpipe.cli.toolkit.progress import RunBar
    from longpipe_evidence.validate.ns2_random import FLAVORS, count, run

    flavors = [flavor for flavor in FLAVORS if tcp in (None, flavor)]
    if not flavors:
        raise ScenarioError(f"--tcp: {tcp!r}; {nearest(str(tcp), FLAVORS)}")
    results = []
    with RunBar("ns-2") as bar:
        for flavor in flavors:
            for row in run(flavor, range(seed, seed + cases)):
                results.append(row)
                bar.update(len(results) / (cases * len(flavors)))
    rows = pd.DataFrame(results).astype({"first_difference": "Int64"})
    text = rows.to_csv(index=False)
    if csv is not None:
        write_output(csv, text)
    if not is_stdout(csv):
        counts = count(rows)[flavors]
        table = terminal_table("ns-2", *flavors, left=len(flavors) + 1)
        for did, numbers in counts.iterrows():
            table.add_row(str(did), *map(str, numbers))
        show_table(terminal(), table)
        if csv is not None:
            echo(f"Cases: {csv}")
    if (rows["first_difference"].notna() & rows["rule"].isna()).any():
        raise typer.Exit(DIFFERENT)
