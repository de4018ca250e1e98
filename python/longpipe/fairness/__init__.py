"""Pairs of congestion controls on one link: shares, harm, losses and delays."""
