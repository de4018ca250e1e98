"""The five documents' questions asked of 2026: their designs over IP, with today's TCP, queues, links and pages."""
