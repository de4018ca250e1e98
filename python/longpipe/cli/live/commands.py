"""The commands of `longpipe live`, imported when one of them is used."""

from longpipe.cli.live.mahimahi import LITERALLY, mm_delay, mm_link, mm_loss, mm_on_off
from longpipe.cli.live.measure import measure
from longpipe.cli.live.path import AtCommand, run
from longpipe.cli.live.quic import quic
from longpipe.cli.live.replay import replay
from longpipe.cli.toolkit.help import App

app = App(rich_markup_mode="rich")
app.command(
    "run",
    cls=AtCommand,
    hidden=True,
    epilog="Other commands, each with --help: longpipe live replay, measure, quic, mm-link, mm-delay, mm-loss, "
    "mm-onoff.",
)(run)
app.command("measure")(measure)
app.command("quic")(quic)
app.command("replay")(replay)
for name, shell in (("mm-delay", mm_delay), ("mm-link", mm_link), ("mm-loss", mm_loss), ("mm-onoff", mm_on_off)):
    app.command(name, context_settings=LITERALLY)(shell)
