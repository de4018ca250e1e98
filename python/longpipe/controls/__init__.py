"""Congestion controllers of the user: modules of Linux, and shared objects with `include/longpipe_control.h`."""
