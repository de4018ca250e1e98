"""Real protocol stacks as ends of flows: a shared object, and a program that sends with quinn in real time."""
