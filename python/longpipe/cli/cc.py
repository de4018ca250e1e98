"""`longpipe cc`: congestion control modules of Linux as controllers of simulated senders."""

from pathlib import Path
from typing import Literal

import typer

from longpipe.cli.toolkit.help import App
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError

FAILED = 1

app = App(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Build and check congestion control modules of Linux.",
)


@app.command()
def build(
    sources: list[Path] = typer.Argument(
        metavar="FILE.c...", help="C source of a Linux module, and of further modules whose functions it uses."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="FILE.so", help="Shared object; by default in the source's folder."
    ),
    linux: Literal["6.1", "6.10"] | None = typer.Option(
        None,
        help="Linux version whose interface the module expects; cong_control has four arguments since 6.10. "
        "\\[default: either]",
    ),
) -> None:
    """Compile a congestion control module of Linux, unmodified, against longpipe's own header.

    Needs a C compiler (cc, gcc, clang, or $CC), but no kernel sources. Use the result in a scenario as tcp.congestion =
    {kind = "module", file = "FILE.so"}.
    """
    # Imported here so that other commands start faster.
    from longpipe.controls.compiler import build as compiled
    from longpipe.system.files import check_file, write_bytes

    target = output or sources[0].with_suffix(".so")
    if sources[0].suffix != ".c":
        raise ScenarioError(f"{sources[0]}: no C source; needs a file that ends with .c")
    check_file("--output", target)
    built = compiled(sources, linux)
    write_bytes(target, built.content)
    target.chmod(0o755)
    also = "".join(f" with {source.path.name}" for source in built.sources[len(sources) :])
    echo(f"{target}: for the interface of Linux {built.linux}{also}, identity {built.facts.source[:12]}")
    if built.facts.parameters:
        echo(f"parameters: {', '.join(sorted(built.facts.parameters))}")


@app.command()
def check(
    file: str = typer.Argument(metavar="FILE", help="C source of a module, or a shared object."),
) -> None:
    """Show which operations, fields and helpers of the kernel a module uses, and which of them longpipe lacks.

    Exit status 1 if something is missing.
    """
    from longpipe.controls.usage import usage

    used = usage(file)
    interface = f"Linux {used.linux}" if used.linux else "longpipe_control.h, version 1"
    echo(f"{file}: {used.name or 'without a name'}, for the interface of {interface}")
    rows = [
        ("operations", used.operations),
        *used.fields.items(),
        ("helpers", used.helpers),
        ("parameters", [f"{name} ({kind})" for name, kind in sorted(used.parameters.items())]),
    ]
    for name, values in rows:
        if values:
            echo(f"{name}: {', '.join(values)}")
    if "cong_control" in used.operations:
        echo("note: with cong_control, only the module reduces the window after a loss; Linux's own reduction is off")
    if used.missing:
        echo(f"missing: {', '.join(f'{name} ({kind})' for name, kind in sorted(used.missing.items()))}")
        raise typer.Exit(FAILED)
    echo("missing: nothing")
