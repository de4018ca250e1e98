"""longpipe beside independent simulators."""
