"""A further path of a connection between two real stacks: multipath QUIC."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from longpipe.errors import ScenarioError
from longpipe.scenario.base import Name
from longpipe.scenario.source import Source

# Stack with the multipath extension of QUIC, and its maximum number of paths (crates/stacks/src/noq/paths.rs).
MULTIPATH: Final = "noq"
MAX_PATHS: Final = 8


class StackPath(Source):
    """A further path of the connection of another flow, whose traffic is the stack noq (multipath QUIC).

    The packets that the stacks send on this path take the routes of this flow. The flow of the stack is the first path.
    """

    in_lab: ClassVar[bool] = False
    kind: Literal["stack-path"] = "stack-path"
    of: Name = Field(description="Name of the flow whose traffic is the stack noq")
    status: Literal["available", "backup"] = Field(
        default="available",
        description="Whether the path carries data at all times, or only if no available path is left",
    )

    def core(self) -> dict[str, Any]:
        """Converts a path for the core, which passes the settings on."""
        return {"kind": self.kind, "of": self.of, "settings": [["status", self.status]]}


def check_stack_paths(fields: Mapping[str, str], flows: Sequence[Mapping[str, Any]]) -> None:
    """Raises ScenarioError for a resolved flow that is a path of a flow without multipath, or one path too many.

    `fields` contains the field in which a flow has its own traffic, by the name of the flow.
    """
    paths = [flow for flow in flows if flow["traffic"]["kind"] == "stack-path"]
    if not paths:
        return
    connections = {flow["name"]: flow for flow in flows if flow["traffic"].get("stack") == MULTIPATH}
    counts: dict[str, int] = {}
    for flow in paths:
        field, of = fields.get(flow["name"], "traffic"), flow["traffic"]["of"]
        if (connection := connections.get(of)) is None:
            known = f": {', '.join(connections)}" if connections else ", and there is none"
            raise ScenarioError(f"{field}.of: {of}; needs the name of a flow whose traffic is the stack noq{known}")
        counts[of] = counts.get(of, 1) + 1
        if counts[of] > MAX_PATHS:
            raise ScenarioError(f"{field}.of: {of}, which has {counts[of]} paths; needs at most {MAX_PATHS}")
        if connection["tcp"] != flow["tcp"]:
            raise ScenarioError(f"{field}.of: {of}; needs the only or first flow of a group")
