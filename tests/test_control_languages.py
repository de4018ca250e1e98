"""Controllers for longpipe_control.h in several languages."""

import re
import shutil
import subprocess
import sys
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
ROOT = Path(__file__).parents[1]
CRATE = ROOT / "crates" / "plugin" / "src" / "lib.rs"


def program(*command: object) -> None:
    subprocess.run([*map(str, command)], check=True, capture_output=True, timeout=300)


def zig() -> list[str]:
    if shutil.which("zig"):
        return ["zig"]
    if find_spec("ziglang") is None:
        pytest.skip("needs zig: pip install ziglang")
    return [sys.executable, "-m", "ziglang"]


def rust(source: Path, folder: Path) -> Path:
    """Builds a Rust source with the crate longpipe-plugin, as cargo does."""
    if shutil.which("rustc") is None:
        pytest.skip("needs rustc")
    library = folder / f"{source.stem}.so"
    options = ["--edition", "2021", "-O", "--out-dir", folder]
    program("rustc", *options, "--crate-type", "rlib", "--crate-name", "longpipe_plugin", CRATE)
    extern = f"longpipe_plugin={folder}/liblongpipe_plugin.rlib"
    program("rustc", *options[:3], "--crate-type", "cdylib", "--extern", extern, source, "-o", library)
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
        case "rust":
            return rust(RUST, folder)
        case _:
            program(*zig(), "build-lib", "-dynamic", "-O", "ReleaseFast", ZIG, f"-femit-bin={folder}/z.so")
            return folder / "z.so"


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("c", tmp_path_factory.mktemp("c"))


@pytest.mark.parametrize("language", ["rust", "zig"])
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


def test_a_parameter_of_the_example_sets_what_a_loss_leaves(in_c: Path) -> None:
    # It counts acknowledged bytes, not whole segments: 80 % of any window.
    assert cuts(simulate(with_module(in_c, beta=0.8, gain=2)))[0] == pytest.approx(0.8)


def losses(result: Result) -> list[tuple[float, float]]:
    """Returns time [s] and window [segments] at each reduction after the first ten seconds."""
    trace = result.traces["cwnd"].query("time_s > 10")
    window, threshold = trace["cwnd_bytes"].to_numpy(), trace["ssthresh_bytes"].to_numpy()
    found = np.flatnonzero(threshold[1:] != threshold[:-1])
    return [(trace["time_s"].iloc[one], window[one] / 1448) for one in found]


def test_the_cubic_of_the_how_to_for_rust_is_that_of_longpipe(tmp_path: Path) -> None:
    """Two codes of RFC 9438: windows at losses agree to 1 %, and the time between every second loss to 2 %."""
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
def test_an_object_that_breaks_its_contract_is_refused_or_reported(
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


# Objects that misbehave


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rust(MISBEHAVES, tmp_path_factory.mktemp("misbehaves"))


def test_nonsense_is_replaced_and_reported(misbehaving: Path) -> None:
    for which, told in ((1, "sets a window of 0 bytes at 1.0"), (2, "sets a window of NaN bytes at 1.0")):
        (warning,) = simulate(with_module(misbehaving, misbehaves=which)).replaced
        assert warning.startswith(f"{misbehaving}: {told}")


def test_a_crash_loses_one_run_and_names_the_file(misbehaving: Path) -> None:
    """abort(), a stack without end, and a panic of Rust."""
    ends = {3: "SIGABRT", 5: "SIGSEGV", 6: "SIGABRT"}
    for which, number in ends.items():
        with pytest.raises(RunError) as error:
            simulate(with_module(misbehaving, misbehaves=which))
        line = str(error.value)
        assert "\n" not in line
        assert line in (
            f"{misbehaving}: the module crashed by {number}; the run is lost, and not repeated",
            # Rust reports the end of a stack itself.
            f"{misbehaving}: the module crashed by SIGABRT; the run is lost, and not repeated",
        )
    assert simulate(with_module(misbehaving)).efficiency > 0.2


def test_an_endless_loop_is_ended_and_named(misbehaving: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "CALL_CPU_S", 0.5)
    with pytest.raises(RunError) as error:
        simulate(with_module(misbehaving, misbehaves=4))
    did = "a call of the module did not return within 0.5 s of processor time"
    assert str(error.value) == f"{misbehaving}: {did}; the run is lost, and not repeated"
