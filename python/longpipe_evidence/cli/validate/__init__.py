"""`longpipe validate`: compares longpipe with independent implementations."""

import typer

from longpipe.cli.toolkit.groups import LazyGroup


class Validate(LazyGroup):
    """Group whose commands take the defaults of their options from scenarios."""

    home = "longpipe_evidence.cli.validate.commands"


app = typer.Typer(
    cls=Validate,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Compare longpipe with ns-2, Linux's TCP, QUIC stacks, or packetdrill scripts.",
)
