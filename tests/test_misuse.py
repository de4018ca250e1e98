"""Arguments of a wrong type are rejected in one line that names the argument, its value and the accepted values."""

from collections.abc import Callable
from typing import Any

import pytest

from longpipe import Design, Factor, Scenario, ScenarioError, Study, pictures, simulate

SCENARIO = Scenario(defaults="1996", duration="10 ms")
FACTORS = [Factor.over("tcp.recovery", ["reno", "sack"], "recovery")]
DESIGN = Design.full_factorial(SCENARIO, FACTORS)
OVER = "needs factors, as in [Factor.over('switch.buffer', ['0.5 BDP', '1 BDP'])]"
# Arguments that a type checker would also reject.
wrong: Any = {
    "text": "geo.toml",
    "mapping": {"switch.buffer": ["1 BDP"]},
    "names": ["switch.buffer"],
    "one": FACTORS[0],
    "number": "3",
    "design": SCENARIO,
    "frame": [1],
    "measure": ["efficiency"],
}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate(wrong["mapping"]), "scenario: {'switch.buffer': ['1 BDP']}; needs a Scenario or the name of"),
        (lambda: Design.full_factorial(wrong["text"], FACTORS), "base: 'geo.toml'; needs a Scenario, as from"),
        (lambda: Design.full_factorial(SCENARIO, wrong["mapping"]), "factors: {'switch.buffer': ['1 BDP']}; " + OVER),
        (lambda: Design.two_level(SCENARIO, wrong["names"]), "factors: 'switch.buffer'; " + OVER),
        (lambda: Design.one_at_a_time(SCENARIO, wrong["one"]), "factors: Factor(name='recovery', levels={'reno': "),
        (
            lambda: Design.full_factorial(SCENARIO, FACTORS, replications=wrong["number"]),
            "replications: '3'; needs a whole number",
        ),
        (lambda: Design.full_factorial(SCENARIO, FACTORS, replications=0), "replications: 0; needs at least 1"),
        (
            lambda: Factor.over("switch.buffer", "1 BDP"),
            "switch.buffer: levels '1 BDP'; needs a list of them, as in ['1 BDP']",
        ),
        (
            lambda: Study(wrong["design"]),
            "design: Scenario(defaults='1996', duration='10 ms'); needs a Design, as from",
        ),
        (lambda: Study(DESIGN, name=wrong["one"]), "study: Factor("),
        (lambda: Study(DESIGN).run(workers=wrong["number"]), "workers: '3'; needs a whole number"),
        (
            lambda: Study(DESIGN).means(wrong["measure"]),
            "measure: ['efficiency']; needs the name of a measure, an expression",
        ),
        (lambda: pictures.sweep(wrong["frame"], "recovery"), "study: [1]; needs a Study; draw a frame of runs with"),
        (lambda: pictures.heat(wrong["frame"], "recovery"), "study: [1]; needs a Study; draw a frame of runs with"),
        (
            lambda: pictures.heat(Study(DESIGN), "recovery", "efficiency", "recovery"),
            "by: 'recovery' is also on the horizontal axis; needs another factor",
        ),
        (lambda: pictures.window(wrong["design"]), "run: a Scenario; needs a result, as from longpipe.simulate"),
        (lambda: pictures.rtt(wrong["one"]), "run: a Factor; needs a result, as from longpipe.simulate"),
    ],
)
def test_an_argument_of_another_type_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        call()
    (problem,) = raised.value.problems
    assert problem.startswith(message), problem
    assert "; needs " in problem
