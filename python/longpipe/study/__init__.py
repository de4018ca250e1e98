"""Studies: a design and a store, as one object that can be run, stopped, resumed, extended and inspected."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longpipe.study.changes import ChangedInputWarning
    from longpipe.study.completion import complete_study
    from longpipe.study.errors import StudyError
    from longpipe.study.housekeeping import copy_studies, delete_study, rename_study
    from longpipe.study.progress import Progress
    from longpipe.study.runner import Runner
    from longpipe.study.study import Status, Study
    from longpipe.study.until import Sequential, run_until

__all__ = [
    "ChangedInputWarning", "Progress", "Runner", "Sequential", "Status", "Study", "StudyError", "complete_study",
    "copy_studies", "delete_study", "rename_study", "run_until",
]  # fmt: skip

if not TYPE_CHECKING:
    from longpipe.system.lazy import lazy_attributes

    # Load lazily, because only sequential studies need SciPy.
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            "ChangedInputWarning": "longpipe.study.changes",
            "Progress": "longpipe.study.progress",
            "Runner": "longpipe.study.runner",
            "Sequential": "longpipe.study.until",
            "Status": "longpipe.study.study",
            "Study": "longpipe.study.study",
            "StudyError": "longpipe.study.errors",
            "complete_study": "longpipe.study.completion",
            "copy_studies": "longpipe.study.housekeeping",
            "delete_study": "longpipe.study.housekeeping",
            "rename_study": "longpipe.study.housekeeping",
            "run_until": "longpipe.study.until",
        },
    )
    del lazy_attributes
