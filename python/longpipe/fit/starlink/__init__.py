"""Fits the parameters of a Starlink path to the measurements of a site: `longpipe fit --model starlink FILES`."""

from longpipe.fit.starlink.path import fit_starlink

__all__ = ["fit_starlink"]
