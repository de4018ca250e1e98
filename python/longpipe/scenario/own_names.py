"""Names of the user's own controllers and stacks, by the digest that identifies them in scenarios."""

import sys

from longpipe import own_stacks
from longpipe.controls import objects
from longpipe.errors import ScenarioError
from longpipe.scenario import Scenario
from longpipe.scenario.digests import field_of


def name_of_control(digest: str, scenario: Scenario) -> str:
    """Returns the user's name for a module's file or a class of a scenario.

    Raises ScenarioError, which names the scenario's field, if this process knows neither.
    """
    # Classes need cloudpickle and NumPy; a scenario with a class has already loaded the module.
    classes = sys.modules.get("longpipe.controls.classes")
    if classes is not None and classes.knows(digest):
        return str(classes.name_of(digest))
    if (name := objects.name_of(digest)) is None:
        field = field_of(digest, scenario.model_dump(by_alias=True)) or "tcp.congestion"
        raise ScenarioError(
            f"{field}: no controller of this machine has the digest {digest}; needs the file or the class that the "
            "scenario names, or, for a scenario of a bundle, `longpipe study rerun BUNDLE --trust`"
        )
    return name


def name_of_stack(digest: str, scenario: Scenario) -> str:
    """Returns the user's name for a stack of a scenario.

    Raises ScenarioError, which names the scenario's field, if this process does not know the stack.
    """
    if (name := own_stacks.name_of(digest)) is None:
        raise own_stacks.unknown(digest, field_of(digest, scenario.model_dump(by_alias=True)) or "traffic")
    return name
