"""Kinds of congestion control and loss recovery by the facts that they declare."""

from typing import Final

from longpipe.scenario.base import kinds_that
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.own_control import OwnControl
from longpipe.scenario.recovery import Recovery

# Kinds that execute the user's code, and all others.
OWN: Final = kinds_that(Congestion, lambda model: issubclass(model, OwnControl))
BUILT_IN: Final = kinds_that(Congestion, lambda model: not issubclass(model, OwnControl))
# Congestion controls with their own pacing rate, which need a report of each loss; and the recovery that provides these
# reports.
MODELS: Final = frozenset(kinds_that(Congestion, lambda model: model.is_model))
(RECOVERY_OF_MODELS,) = kinds_that(Recovery, lambda model: model.detects_each_loss)
