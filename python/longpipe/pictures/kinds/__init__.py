"""Pictures of runs and scenarios that `longpipe plot` draws: a module draws and declares each of them."""
