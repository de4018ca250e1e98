"""Arguments that look like options, or that are options of another program."""

import pytest

from commands import run
from longpipe import ScenarioError
from longpipe.live.mahimahi import chain


def test_a_place_in_the_south_is_no_option() -> None:
    done = run("satellites", "iridium", "-33.4,-70.6", "-34.6,-58.4", "--duration", "1", "--step", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "-33.4,-70.6" in done.stdout


def test_an_option_of_mm_link_that_is_not_known_is_named_before_it_takes_a_schedule() -> None:
    with pytest.raises(ScenarioError, match=r"mm-link: '--faster'; accepts --uplink-queue, "):
        chain(["mm-link", "--faster", "up", "down"])
