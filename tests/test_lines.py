"""The count of lines of code by tests/lines.py."""

from typing import Final

from lines import counted

RUST: Final = """//! Header.
/* A comment /* in a comment */
   of two lines. */
pub fn f<'a>(x: &'a str) -> char { // A comment.
    let text = "// no comment
        {";

    let raw = r#"a "quoted" {"#;
    '{'
}

#[cfg(test)]
use std::{fmt, io};

#[cfg(test)]
mod tests {
    #[test]
    fn g() {}
}
const LAST: u32 = 1;
"""
PYTHON: Final = '''"""Header.

Of two lines.
"""

# A comment.
X = """a
b"""


class A:
    """Docstring."""

    def f(self) -> str:  # A comment.
        """Docstring."""
        return (
            "text"
        )
'''


def test_lines_of_code_exclude_comments_and_tests() -> None:
    files = {
        "crates/a/src/lib.rs": RUST,
        "crates/a/src/part/tests.rs": "fn f() {}",
        "crates/a/tests/all/main.rs": "fn f() {}",
        "python/p/a.py": PYTHON,
        "tests/test_a.py": "X = 1",
    }
    assert counted(files) == {"crates/a": 7, "python/p": 7}
