"""Prints the data about longpipe that is built into the page, as JSON; the argument is a folder with scenario files."""

import json
import sys
from pathlib import Path

from longpipe.lab.description import description
from longpipe.lab.presets import presets
from longpipe_evidence.papers.presets import presets as presets_of_papers

if __name__ == "__main__":
    data = description([*presets(Path(sys.argv[1])), *presets_of_papers()])
    json.dump(data, sys.stdout, allow_nan=False)
