"""Fields as people type them."""

from longpipe.errors import ScenarioError


def check_whole(option: str, field: str) -> None:
    """ScenarioError for the last part of a field's name alone, "recovery", that names where it is."""
    if "." in field:
        return
    # It reads every field of a scenario.
    from longpipe.scenario.reference import all_fields

    names = dict.fromkeys(one.name for one in all_fields())
    whole = [name for name in names if name.endswith(f".{field}")]
    if whole and field not in {name.partition(".")[0] for name in names}:
        raise ScenarioError(f"{option}: {field!r}; needs the whole name, {' or '.join(whole)}")
