"""Real stacks as ends of longpipe's flows. The package has one shared object, which longpipe finds and loads."""
