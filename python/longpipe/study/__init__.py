"""Studies: a design and a store, as one object that can be run, stopped, resumed, grown and inspected."""

from longpipe.study.campaign import StudyError, complete_study
from longpipe.study.progress import Progress
from longpipe.study.study import Status, Study
from longpipe.study.until import Sequential, run_until

__all__ = ["Progress", "Sequential", "Status", "Study", "StudyError", "complete_study", "run_until"]
