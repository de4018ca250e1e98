"""Real protocol stacks as ends of longpipe's flows: the package contains one shared object, which longpipe loads."""
