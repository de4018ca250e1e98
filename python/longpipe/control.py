"""A congestion control as a class: derive from `Control`, and name the class in `tcp.congestion`."""

from longpipe.controls.control import Ack, Control, Event, Grant, Interval, Lost, Sent, compiled

__all__ = ["Ack", "Control", "Event", "Grant", "Interval", "Lost", "Sent", "compiled"]
