"""Compatibility alias of `longpipe.pictures.save`."""

from longpipe.pictures.saving import save

__all__ = ["save"]
