"""Fits a path and a congestion control to a capture taken at the sender.

`observe(file)` reads a flow, `fit(observation)` estimates its path in closed form and simulates every congestion
control over it, and `path_file.write(fit, path)` writes the result as a scenario.
"""

from longpipe.fit.observed import ObservedFlow, observe
from longpipe.fit.path_fit import Candidate, PathFit
from longpipe.fit.search import CONTROLS, fit

__all__ = ["CONTROLS", "Candidate", "ObservedFlow", "PathFit", "fit", "observe"]
