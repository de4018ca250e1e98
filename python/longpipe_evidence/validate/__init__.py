"""Comparison of longpipe with independent programs: ns-2, Linux, packetdrill."""
