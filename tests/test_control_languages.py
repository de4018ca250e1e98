"""Controllers for longpipe_control.h in several languages, as shared objects and as WebAssembly modules."""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from longpipe import Result, RunError, ScenarioError, simulate
from longpipe.controls import isolation
from longpipe.controls.facts import facts
from longpipe.controls.sources import INCLUDE
from test_modules import MODULES, PATH, cuts, refusal, with_module

C, RUST, ZIG = MODULES / "control.c", MODULES / "control.rs", MODULES / "control.zig"
MISBEHAVES = MODULES / "misbehaves.rs"
EVERY_HOOK = MODULES / "every_hook.rs"
ROOT = Path(__file__).parents[1]
CRATE = ROOT / "crates" / "plugin" / "src" / "lib.rs"
WASM32 = "wasm32-unknown-unknown"
TABLE = ["-C", "link-arg=--export-table", "-C", "link-arg=--growable-table"]


def program(*command: object) -> None:
    subprocess.run([*map(str, command)], check=True, capture_output=True, timeout=300)


@cache
def has_rust(target: str | None = None) -> bool:
    if shutil.which("rustc") is None:
        return False
    words = ["rustc", "--print", "target-libdir", *(["--target", target] if target else [])]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    return found.returncode == 0 and Path(found.stdout.strip()).is_dir()


def zig() -> list[str]:
    if shutil.which("zig"):
        return ["zig"]
    if find_spec("ziglang") is None:
        pytest.skip("needs zig: pip install ziglang")
    return [sys.executable, "-m", "ziglang"]


def rust(source: Path, folder: Path, target: str | None = None) -> Path:
    """Builds a Rust source with the crate longpipe-plugin, as cargo does."""
    if not has_rust(target):
        pytest.skip(f"needs rustc{' for ' + target if target else ''}")
    library = folder / f"{source.stem}.{'wasm' if target else 'so'}"
    options = ["--edition", "2021", "-O", *(["--target", target] if target else [])]
    crate = folder / (target or "here")
    crate.mkdir(exist_ok=True)
    program("rustc", *options, "--crate-type", "rlib", "--crate-name", "longpipe_plugin", CRATE, "--out-dir", crate)
    extern = f"longpipe_plugin={crate}/liblongpipe_plugin.rlib"
    table = TABLE if target else []
    program("rustc", *options, *table, "--crate-type", "cdylib", "--extern", extern, source, "-o", library)
    return library


def built(language: str, folder: Path) -> Path:
    """Builds the example of a language as docs/modules.md describes."""
    match language:
        case "c":
            if shutil.which("cc") is None:
                pytest.skip("needs a C compiler")
            program(
                "cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-I", INCLUDE, C, "-o", folder / "c.so"
            )  # fmt: skip
            return folder / "c.so"
        case "c, wasm":
            options = ["-target", "wasm32-wasi", "-mexec-model=reactor", "-O2", "-s", "-I", INCLUDE]
            link = [f"-Wl,--{one}" for one in ("export=longpipe_control", "export-table", "growable-table")]
            program(*zig(), "cc", *options, C, *link, "-o", folder / "c.wasm")
            return folder / "c.wasm"
        case "rust":
            return rust(RUST, folder)
        case "rust, wasm":
            return rust(RUST, folder, WASM32)
        case "zig":
            program(*zig(), "build-lib", "-dynamic", "-O", "ReleaseFast", ZIG, f"-femit-bin={folder}/z.so")
            return folder / "z.so"
        case _:
            names = ("export=longpipe_control", "export=longpipe_facts", "export-table", "growable-table")
            options = ["-target", "wasm32-freestanding", "-fno-entry", "-O", "ReleaseSmall"]
            program(*zig(), "build-exe", *options, *(f"--{n}" for n in names), ZIG, f"-femit-bin={folder}/z.wasm")
            return folder / "z.wasm"


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("c", tmp_path_factory.mktemp("c"))


@pytest.mark.parametrize("language", ["rust", "rust, wasm", "zig", "zig, wasm", "c, wasm"])
def test_the_example_gives_the_same_bits_in_every_language(language: str, in_c: Path, tmp_path: Path) -> None:
    lossy = PATH.with_(**{"network.trunk_loss": {"kind": "bernoulli", "probability": 0.002}})
    file = built(language, tmp_path)
    for path, parameters in ((PATH, {"beta": 0.8, "gain": 2}), (lossy, {})):
        scenarios = [with_module(one, path, None, **parameters) for one in (in_c, file)]
        one, other = (simulate(scenario).state_hash for scenario in scenarios)
        assert one == other
    assert facts(file.read_bytes()).parameters == {"beta": "real", "gain": "integer"}
    assert refusal(file, beta=1.5) == "tcp.congestion.parameters.beta: 1.5; the module does not accept it"
    assert refusal(file, beta="much") == "tcp.congestion.parameters.beta: much; needs a number"


def test_parameter_sets_the_window_after_a_loss(in_c: Path) -> None:
    # It counts acknowledged bytes, not whole segments, and keeps 80 % of any window.
    assert cuts(simulate(with_module(in_c, beta=0.8, gain=2)))[0] == pytest.approx(0.8)


def losses(result: Result) -> list[tuple[float, float]]:
    """Returns the time [s] and the window [segments] of each reduction after the first ten seconds."""
    trace = result.traces["cwnd"].query("time_s > 10")
    window, threshold = trace["cwnd_bytes"].to_numpy(), trace["ssthresh_bytes"].to_numpy()
    found = np.flatnonzero(threshold[1:] != threshold[:-1])
    return [(trace["time_s"].iloc[one], window[one] / 1448) for one in found]


def test_rust_guides_cubic_equals_longpipes(tmp_path: Path) -> None:
    """Two implementations of RFC 9438: windows at losses agree within 1 %, times between every second loss within 2 %."""
    page = (ROOT / "docs" / "how-to" / "control-in-rust.md").read_text(encoding="utf-8")
    source = tmp_path / "mycubic.rs"
    source.write_text("".join(re.findall(r"^```rust\n(.*?)^```", page, re.DOTALL | re.MULTILINE)))
    file = rust(source, tmp_path)
    path = PATH.with_(duration="40 s")
    theirs, ours = (
        losses(simulate(one)) for one in (path.with_(**{"tcp.congestion": "cubic"}), with_module(file, path))
    )
    assert len(theirs) >= 4
    for (at, window), (after, other) in zip(theirs[:2], ours[:2], strict=True):
        assert other == pytest.approx(window, rel=0.01), (at, after)
    periods = [found[2][0] - found[0][0] for found in (theirs, ours)]
    assert periods[1] == pytest.approx(periods[0], rel=0.02)
    assert cuts(simulate(with_module(file, beta=0.85))) == pytest.approx([0.85] * 5, abs=0.001)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("return calloc(1, sizeof(struct flow));", "return 0;"), "out of memory for a connection"),
        ((".on_ack = on_ack,", ""), "needs the operation on_ack in its longpipe_control"),
        (("grant->window = flight->cwnd + (double)ack->acked;", "grant->window = 0.0 / 0.0;"), "NaN"),
    ],
)
def test_an_object_that_breaks_its_contract_is_rejected_or_reported(
    change: tuple[str, str], told: str, in_c: Path, tmp_path: Path
) -> None:
    source = tmp_path / "control.c"
    source.write_text(C.read_text().replace(*change))
    assert source.read_text() != C.read_text()
    program("cc", "-w", "-shared", "-fPIC", "-I", INCLUDE, source, "-o", tmp_path / "control.so")
    try:
        found = simulate(with_module(tmp_path / "control.so").with_(duration="1 s")).replaced
        line = found[0]
    except (ScenarioError, RunError) as error:
        line = str(error)
    assert told in line
    assert "\n" not in line


# Objects and modules that fail.


@pytest.fixture(scope="module", params=[None, WASM32], ids=["object", "wasm"])
def misbehaving(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rust(MISBEHAVES, tmp_path_factory.mktemp("misbehaves"), request.param)


def test_invalid_values_are_replaced_and_reported(misbehaving: Path) -> None:
    for which, told in ((1, "sets a window of 0 bytes at 1.0"), (2, "sets a window of NaN bytes at 1.0")):
        (warning,) = simulate(with_module(misbehaving, misbehaves=which)).replaced
        assert warning.startswith(f"{misbehaving}: {told}")


def test_a_crash_loses_one_run_and_names_the_file(misbehaving: Path) -> None:
    """The cases are abort(), infinite recursion, and a panic of Rust.

    A shared object terminates its process, but a WebAssembly module only terminates the run.
    """
    ends = {3: "SIGABRT", 5: "SIGSEGV", 6: "SIGABRT"}
    for which, number in ends.items():
        with pytest.raises(RunError) as error:
            simulate(with_module(misbehaving, misbehaves=which))
        line = str(error.value)
        assert "\n" not in line
        if misbehaving.suffix == ".so":
            assert line in (
                f"{misbehaving}: the module crashed by {number}; the run is lost and is not repeated",
                # Rust reports a stack overflow itself.
                f"{misbehaving}: the module crashed by SIGABRT; the run is lost and is not repeated",
            )
        else:
            assert line.startswith(f"{misbehaving}: on_ack fails at 1.0")
    assert simulate(with_module(misbehaving)).efficiency > 0.2


def test_an_endless_loop_is_ended_and_named(misbehaving: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "CALL_CPU_S", 0.5)
    with pytest.raises(RunError) as error:
        simulate(with_module(misbehaving, misbehaves=4))
    did = "a call of the module did not return within 0.5 s of processor time"
    assert str(error.value) == f"{misbehaving}: {did}; the run is lost and is not repeated"


# WebAssembly


def test_hooks_have_equal_arguments_in_modules_and_objects(tmp_path: Path) -> None:
    """The windows of every_hook.rs depend on all arguments and on its random numbers; losses, marks and timeouts occur."""
    path = PATH.with_(
        duration="3 s",
        **{"tcp.ecn": "classic", "switch.policy": {"kind": "red", "ecn": True}, "tcp.initial_rtt": "100 ms"},
        **{"network.trunk_loss": {"kind": "bernoulli", "probability": 0.003}, "tcp.initial_window": "150 segments"},
    )
    found = [simulate(with_module(rust(EVERY_HOOK, tmp_path, target), path)) for target in (None, WASM32)]
    assert found[0].state_hash == found[1].state_hash
    assert len(set(found[0].reductions["cause"])) > 1


def test_statics_of_a_module_belong_to_one_simulation(tmp_path: Path) -> None:
    file = rust(RUST, tmp_path, WASM32)
    first, other = (simulate(with_module(file, beta=beta)).state_hash for beta in (0.5, 0.8))
    assert first != other
    assert simulate(with_module(file)).state_hash == first


def test_module_is_identified_by_its_bytes(tmp_path: Path) -> None:
    file = rust(RUST, tmp_path, WASM32)
    copied = Path(shutil.copy(file, tmp_path / "other.wasm"))
    assert with_module(copied).digest() == with_module(file).digest()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "does not export its table; needs the linker's --export-table and --growable-table"),
        (TABLE[:2], "its table cannot grow; needs the linker's --growable-table"),
    ],
)
def test_incomplete_modules_are_rejected(
    options: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "TABLE", options)
    assert refusal(rust(RUST, tmp_path, WASM32)).endswith(told)


def test_other_files_are_rejected_as_modules(tmp_path: Path) -> None:
    file = tmp_path / "a.wasm"
    file.write_bytes(b"\0asm\x01\0\0\0")
    assert refusal(file) == f"{file}: not a congestion controller; needs an object built by `longpipe cc build`"
    fact = b"\x01longpipe\x01interface=1\0"
    # The custom section contains the fact, and the module contains nothing else.
    section = b"\x01f" + fact
    file.write_bytes(b"\0asm\x01\0\0\0\0" + bytes([len(section)]) + section)
    assert refusal(file) == f"tcp.congestion.file: {file}; needs to export its memory"
    file.write_bytes(b"\0asm\x01\0\0\0\x7f\x01" + fact)
    assert refusal(file).startswith(f"tcp.congestion.file: {file}; not a WebAssembly module: ")


def test_check_names_a_module(tmp_path: Path) -> None:
    file = rust(RUST, tmp_path, WASM32)
    command = [sys.executable, "-m", "longpipe", "cc", "check", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ, timeout=60)
    assert done.stdout.splitlines()[0] == f"{file}: mine, for the interface of longpipe_control.h, version 1"
