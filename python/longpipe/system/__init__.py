"""Services of the operating system and the interpreter: files, locks, memory, signals and lazy imports."""
