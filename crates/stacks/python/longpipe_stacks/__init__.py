"""Real protocol stacks as ends of longpipe's flows. The package contains one shared object, which longpipe finds and loads."""
