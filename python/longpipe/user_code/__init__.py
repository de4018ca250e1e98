"""The user's Python code and compiled code: which of it may run, how it is loaded, and how it is executed."""
