"""The conclusions of the five documents, tested with the links, TCP, queues and web pages of 2026."""
