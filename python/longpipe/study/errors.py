"""Errors of studies, apart from the modules that execute runs, which commands load only when needed."""

from longpipe.errors import RunError


class StudyError(RunError):
    """Error that names the failed runs with their seeds; all other runs are in the store."""
