"""Help for field names without their path."""

from longpipe.errors import ScenarioError


def check_whole(option: str, field: str) -> None:
    """Raises ScenarioError, which contains the full path, for a field name without its path ("recovery")."""
    if "." in field:
        return
    # Import only here, because it loads all scenario models.
    from longpipe.scenario.reference import all_fields

    names = dict.fromkeys(one.name for one in all_fields())
    whole = [name for name in names if name.endswith(f".{field}")]
    if whole and field not in {name.partition(".")[0] for name in names}:
        raise ScenarioError(f"{option}: {field!r}; needs the whole name, {' or '.join(whole)}")
