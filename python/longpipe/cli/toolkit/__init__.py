"""Building blocks of commands, also for commands of other packages: options, checks, output and progress."""
