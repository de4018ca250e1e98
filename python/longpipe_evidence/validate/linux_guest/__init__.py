"""Code that runs in the guest kernel of `longpipe validate linux`, with the standard library only."""
