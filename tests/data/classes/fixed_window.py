"""An unfair control: a window of four BDP of 10 Mbit/s and 40 ms, whatever happens."""

from longpipe import Ack, Control, Grant


class FixedWindow(Control):
    owns_window = True

    def on_ack(self, ack: Ack) -> Grant | None:
        return Grant(window=200_000.0)
