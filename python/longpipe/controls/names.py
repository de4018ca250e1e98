"""Names of controllers that are not longpipe's own, by the digest that names them in scenarios."""

import sys

from longpipe.controls import objects


def name_of(digest: str) -> str:
    """Returns the name by which the user knows a module's file or a class.

    Raises ScenarioError if this process knows neither.
    """
    # Classes need cloudpickle and NumPy; a scenario that has one has loaded the module already.
    classes = sys.modules.get("longpipe.controls.classes")
    if classes is not None and classes.knows(digest):
        return str(classes.name_of(digest))
    return objects.name_of(digest)
