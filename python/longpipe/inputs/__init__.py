"""Reads input files: a single layer, with limits on size and content, for every file that a user can name.

Each function raises a one-line ScenarioError that names the file, the line if there is one, and what is needed.
"""

from longpipe.inputs.bytes import MAX_BYTES, open_regular, read_bytes
from longpipe.inputs.structured import NoTomlError, load_json, load_toml, parse_json, parse_toml
from longpipe.inputs.text import decode, read_lines, read_text, split_lines

__all__ = [
    "MAX_BYTES",
    "NoTomlError",
    "decode",
    "load_json",
    "load_toml",
    "open_regular",
    "parse_json",
    "parse_toml",
    "read_bytes",
    "read_lines",
    "read_text",
    "split_lines",
]
