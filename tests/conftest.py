"""The store of whoever runs the tests is left alone."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_OWN = tempfile.mkdtemp(prefix="longpipe-tests-")
# Before test modules copy the environment for the commands that they start.
os.environ["LONGPIPE_STORE"] = str(Path(_OWN) / "runs.db")


@pytest.fixture(scope="session", autouse=True)
def _own_store() -> Iterator[None]:
    yield
    shutil.rmtree(_OWN)
