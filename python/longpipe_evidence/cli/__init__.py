"""Commands of this package, which `longpipe` finds by the entry points `longpipe.commands`."""
