"""Names of the user's own controllers, by the digest that identifies them in scenarios."""

import sys

from longpipe.controls import objects


def name_of(digest: str) -> str:
    """Returns the user's name for a module's file or a class. Raises ScenarioError if this process knows neither."""
    # Classes need cloudpickle and NumPy; a scenario with a class has already loaded the module.
    classes = sys.modules.get("longpipe.controls.classes")
    if classes is not None and classes.knows(digest):
        return str(classes.name_of(digest))
    return objects.name_of(digest)
