"""`longpipe validate`: compares longpipe with independent implementations."""

from typing import Final

from longpipe.cli.toolkit.groups import LazyGroup
from longpipe.cli.toolkit.help import App

# Group of the command in `longpipe --help`.
GROUP: Final = "Evidence"


class Validate(LazyGroup):
    """Group whose commands take the defaults of their options from scenarios."""

    home = "longpipe_evidence.cli.validate.commands"


app = App(
    cls=Validate,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Compare longpipe with ns-2, Linux's TCP, QUIC stacks, or packetdrill scripts.",
)
