"""Published results and the experiments that reproduce them; each module of this package adds one paper."""

from typing import Final

from longpipe.papers import buf_97, frr_96, gr_97, www_98
from longpipe.papers.paper import Paper

PAPERS: Final[dict[str, Paper]] = {paper.id: paper for paper in (frr_96.PAPER, gr_97.PAPER, buf_97.PAPER, www_98.PAPER)}

__all__ = ["PAPERS", "Paper"]
