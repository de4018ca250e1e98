"""The results of reproduced documents: their folders, and the page about them."""
