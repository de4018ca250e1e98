"""Evidence for longpipe: reproduced papers, comparisons with other implementations, and the suites of documents."""
