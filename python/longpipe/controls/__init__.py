"""Congestion controllers of the user's own: modules of Linux, and shared objects for `include/longpipe_control.h`."""
