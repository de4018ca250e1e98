"""The top-level modules of each Rust crate use each other in one direction only."""

import re
from pathlib import Path
from typing import Final

import pytest

from circles import circles
from rust_modules import CRATES, ROOT, floors

PAGE: Final = ROOT / "docs" / "architecture.md"


@pytest.mark.parametrize("crate", CRATES.values(), ids=CRATES)
def test_modules_of_a_crate_have_no_cycles(crate: Path) -> None:
    assert circles(floors(crate)) == []


def test_architecture_page_lists_network_modules_top_down() -> None:
    graph = floors(CRATES["network"])
    graph.pop("lib")
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## Floors of `crates/network`")
    listed = re.findall(r"^\| `(\w+)(?:/|\.rs)` \|", section.partition("\n## ")[0], re.MULTILINE)
    assert sorted(listed) == sorted(graph)
    upwards = [
        f"{part} uses {used}"
        for part in listed
        for used in sorted(graph[part])
        if listed.index(used) < listed.index(part)
    ]
    assert upwards == []


def test_cycles_are_found_through_every_kind_of_dependency(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod by_use; mod by_path; mod by_impl; mod ground;\npub use ground::Ground;\n",
        "ground/mod.rs": "pub mod deep;\npub use deep::Deep;\npub struct Ground;\nuse crate::by_use::Used;\n",
        "ground/deep.rs": "pub struct Deep;\n",
        "by_use.rs": "use crate::{\n    by_path as other,\n    ground::Deep,\n};\n",
        "by_path.rs": "fn f() {\n    let _ = super::by_impl::g();\n}\n",
        "by_impl.rs": "use crate::ground::deep;\nimpl Ground {\n    fn h() {}\n}\n#[cfg(test)]\nmod tests {\n    use crate::by_use;\n}\n",
    }
    for name, text in files.items():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(text, encoding="utf-8")
    assert floors(tmp_path) == {
        "lib": set(),
        "ground": {"by_use", "by_impl"},
        "by_use": {"by_path", "ground"},
        "by_path": {"by_impl"},
        "by_impl": {"ground"},
    }
