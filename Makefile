# Two commands do everything: `make reproduce` and `make test`. Needs Python >= 3.11 and Rust.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What `make reproduce` reproduces, or some of these.
PAPERS ?= frr-96 gr-97 buf-97 www-98 lbd-01
RUST := $(shell find crates -name '*.rs' -o -name 'Cargo.toml') Cargo.toml

.PHONY: setup reproduce test wheel docs bench bench-rivals bench-scaling soak lint clean

setup: $(VENV)/.built
	@:

$(VENV)/.tools: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("longpipe needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt maturin
	@touch $@

# What the package needs, and the package itself, once; after that a change of the core builds the core alone.
$(VENV)/.installed: $(VENV)/.tools pyproject.toml
	VIRTUAL_ENV=$(VENV) PIP_CONSTRAINT=constraints.txt PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
		$(BIN)/maturin develop --release --quiet --extras dev
	@touch $@

$(VENV)/.built: $(VENV)/.installed $(RUST)
	VIRTUAL_ENV=$(VENV) $(BIN)/maturin develop --release --quiet --skip-install
	@touch $@

reproduce: setup
	@$(BIN)/longpipe reproduce $(PAPERS)
	@$(BIN)/longpipe report $(PAPERS)

test: setup
	cargo test --workspace --release
	$(BIN)/python -m pytest --numprocesses logical --dist loadfile

# One wheel for Python 3.11 and newer on this kind of machine, in dist/; who installs it needs no Rust. By the same Python
# as `setup`, or all crates are compiled again.
wheel: $(VENV)/.tools
	rm -rf dist
	VIRTUAL_ENV=$(VENV) $(BIN)/maturin build --release --quiet --out dist

# The pages of docs/, with their notebooks run and the reference written from the code, in docs/_build/html.
docs: setup $(VENV)/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --jobs auto docs docs/_build/html

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt 'longpipe[docs]'
	@touch $@

bench: setup
	cargo bench --package longpipe-network --bench engines
	cargo bench --package longpipe-network --bench ip

# The same works in longpipe, ns-2 and ns-3: make bench-rivals [JSON=FILE] [RUNS=5] [NS3_SHARE=0.2] [INSTALL=1]
bench-rivals: setup
	@$(BIN)/python benches/rivals compare $(if $(JSON),--json $(JSON)) $(if $(RUNS),--runs $(RUNS)) \
		$(if $(NS3_SHARE),--ns3-share $(NS3_SHARE)) $(if $(INSTALL),--install)

# Flows, rates and delays of any size: make bench-scaling [JSON=FILE] [RUNS=3] [OUT=results]
OUT ?= results
bench-scaling: setup
	@$(BIN)/python benches/rivals scaling --out $(OUT) $(if $(JSON),--json $(JSON)) $(if $(RUNS),--runs $(RUNS))

# Random scenarios through both engines: make soak CASES=100000
CASES ?= 20000
soak:
	PROPTEST_CASES=$(CASES) cargo test --package longpipe-network --release --test engines -- --nocapture

lint: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --release -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict

clean:
	cargo clean
	rm -rf $(VENV)
