"""Where `save` was before it was of `longpipe.pictures`."""

from longpipe.pictures.saving import save

__all__ = ["save"]
