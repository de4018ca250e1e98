"""What runs inside the guest kernel of `longpipe validate linux`: the standard library alone."""
