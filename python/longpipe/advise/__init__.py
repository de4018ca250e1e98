"""Answers to "which queue, buffer and control should this link have?": selection with a stated confidence."""
