from typing import Any, get_args

import pytest

from longpipe import Scenario, _core
from longpipe.scenario.base import kinds
from longpipe.scenario.buffers import BufferUnit, Framing
from longpipe.scenario.network import Node
from longpipe.scenario.switch import Switch

# The core receives a staggered start as a fixed start per flow, voice as bursts, and a user's own stack
# as a stack with the stack's digest.
RESOLVED = {"staggered": "fixed", "voice": "on-off", "own-stack": "stack"}


def names(annotation: object) -> set[str]:
    """Returns the values of a Literal, or the kinds of a union of models."""
    arguments = get_args(annotation)
    if all(isinstance(argument, str) for argument in arguments):
        return set(arguments)
    return {RESOLVED.get(kind, kind) for kind in kinds(annotation)}


PYTHON: dict[str, Any] = {
    "engine": Scenario.model_fields["engine"].annotation,
    "framing": Framing,
    "buffer_unit": BufferUnit,
    "ties": Switch.model_fields["ties"].annotation,
    "node": Node.model_fields["kind"].annotation,
}


# Stored traces contain these names, and traces of the core their numbers, from 0.
TRACES = {
    "cause": "marked overflow aqm injected_loss outage bit_error partial_frame ack_filter no_route policer flow_limit"
    " access",
    "drop_cause": "none ecn overflow aqm injected_loss outage bit_error partial_frame ack_filter no_route policer flow_limit"
    " access",
    "action": "request lost-request grant transmission attempt collision retransmission",
    "kind": "dropped retransmit declared-lost fast-retransmit timeout reduction undo state",
    "event_cause": "none fast-retransmit partial-ack scoreboard rack timeout tail-loss-probe rescue ecn idle eifel d-sack"
    " f-rto open cwr recovery loss",
    "stage": "startup drain probe-up probe-down cruise refill probe-rtt reconnaissance unvalidated validating safe-retreat",
    "state": "open reduced recovery loss",
    "limited_by": "application pacing cwnd receiver-window",
}


def test_numeric_codes_of_traces_keep_their_names() -> None:
    assert dict(_core.trace_names()) == {column: names.split() for column, names in TRACES.items()}


def test_every_kind_of_variant_is_compared() -> None:
    assert PYTHON.keys() == _core.variant_names().keys()


@pytest.mark.parametrize("kind", PYTHON)
def test_python_and_rust_name_the_same_variants(kind: str) -> None:
    assert names(PYTHON[kind]) == set(_core.variant_names()[kind])
