# Two commands do everything: `make reproduce` and `make test`. Needs Python >= 3.11 and Rust.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What `make reproduce` reproduces: all papers, or some of them.
PAPERS ?= $(shell $(BIN)/python -c 'from longpipe.papers import IDS; print(*IDS)')
RUST := $(shell find crates -name '*.rs' -o -name 'Cargo.toml') Cargo.toml

# All crates but the boundary to browsers, which a browser tests. The boundary to Python has no Rust tests; with it Cargo compiles
# the other crates once, for the tests and for Python.
TESTED := --workspace --exclude longpipe-wasm --tests

.PHONY: setup reproduce test stacks wheel wheels sdist lab lab-test docs bench bench-rivals bench-kinds bench-scaling bench-growth bench-startup soak validate fuzz checked golden tests-built lint lint-rust lint-wasm lint-python clean

# Python's packages come while the core compiles, and tests are compiled beside it, unless make was told how much to do at once.
TWO_AT_ONCE = $(MAKE) --silent --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=2)

setup:
	+@$(TWO_AT_ONCE) $(VENV)/.built

$(VENV)/.tools: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("longpipe needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@echo "1/3: a virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt maturin
	@touch $@

# What the package and its development need: mypy reads the sources beside the core's compilation.
REQUIRED := import tomllib; told = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*told["dependencies"], *told["optional-dependencies"]["dev"], sep="\n")

$(VENV)/.packages: $(VENV)/.tools pyproject.toml
	@echo "2/3: Python's packages"
	@$(BIN)/python -c '$(REQUIRED)' >$@.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --requirement $@.txt
	@touch $@

# Cargo's profile of the core: `ci` compiles much faster than `release`, shares its crates with the tests, and is a little
# slower to run.
PROFILE ?= release

DEVELOP := VIRTUAL_ENV=$(VENV) PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
	$(BIN)/maturin develop --profile $(PROFILE)

# The core, whose compilation waits for no package.
$(VENV)/.compiled: $(VENV)/.tools $(RUST)
	@echo "3/3: the core: two to five minutes on two cores, less where only some of it changed"
	$(DEVELOP) --skip-install
	@touch $@

# The package itself; after that a change of the core compiles the core alone.
$(VENV)/.built: $(VENV)/.packages $(VENV)/.compiled
	$(if $(filter %.packages,$?),$(DEVELOP))
	@touch $@

# Real stacks as ends of flows (docs/stacks.md), a package of its own: some four minutes of processor time.
STACKS := $(shell find crates/stacks crates/end -name '*.rs' -o -name '*.toml' -o -name '*.lock' -o -name '*.py')

stacks: $(VENV)/.stacks
	@:

# Profile `ci` compiles the stacks faster, too.
FASTER_STACKS := $(if $(filter ci,$(PROFILE)),CARGO_PROFILE_RELEASE_OPT_LEVEL=1)

# After the other packages, as two installations at once may collide.
$(VENV)/.stacks: $(VENV)/.packages $(STACKS)
	@echo "real stacks: quinn, noq and str0m"
	PIP_CONSTRAINT=constraints.txt $(FASTER_STACKS) \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check ./crates/stacks
	@touch $@

reproduce: setup
	@$(BIN)/longpipe reproduce $(PAPERS)
	@$(BIN)/longpipe report $(PAPERS)

# Random cases are the same in each run, so that a failure belongs to the change that is tested; `make soak` draws others.
SEED ?= 1
test:
	+@$(TWO_AT_ONCE) $(VENV)/.built tests-built $(VENV)/.stacks
	PROPTEST_RNG_SEED=$(SEED) cargo test $(TESTED) --profile ci
	# The stacks are a workspace of their own, which was compiled for their package.
	$(FASTER_STACKS) cargo test --release --locked --manifest-path crates/stacks/Cargo.toml --target-dir target/stacks
	# Files run in the order of tests/conftest.py, because pytest-xdist would run files with few tests last, which take longest.
	# There is one worker more than processors, because tests spend a fifth of their time waiting.
	$(BIN)/python -m pytest --numprocesses $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist loadfile --no-loadscope-reorder --hypothesis-profile ci --durations 25

# One wheel for Python 3.11 and newer on this kind of machine, in dist/; who installs it needs no Rust. By the same Python
# as `setup`, or all crates are compiled again.
wheel: $(VENV)/.tools
	rm -rf dist
	@$(LAB_MISSING)
	VIRTUAL_ENV=$(VENV) $(BIN)/maturin build --profile $(PROFILE) --out dist

# Wheels for manylinux2014 on x86-64 and AArch64, in dist/: zig links the core with the C library of that platform, glibc 2.17.
wheels: $(VENV)/.tools
	@$(LAB_MISSING)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ziglang
	rustup target add x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
	for machine in x86_64 aarch64; do \
		VIRTUAL_ENV=$(VENV) PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --profile $(PROFILE) --zig --compatibility manylinux2014 \
			--target $$machine-unknown-linux-gnu --out dist || exit 1; \
	done

# The sources as one archive in dist/, from which pip builds where there is no wheel; with the lab, if it was built.
sdist: $(VENV)/.tools
	@$(LAB_MISSING)
	$(BIN)/maturin sdist --out dist

# Says that what is made will have no lab.
LAB_MISSING = test -f $(PAGE) || echo "warning: $(PAGE) is missing, so this has no lab; run make lab before" >&2

# The lab, one HTML file that the package has from then on (docs/lab.md). Needs node 18.19 or newer, npm, and Rust's target
# wasm32-unknown-unknown: `rustup target add wasm32-unknown-unknown`.
PAGE := python/longpipe/lab/page.html
WASM := target/wasm32-unknown-unknown/wasm/longpipe_wasm.wasm
BINDGEN := target/bindgen/debug/bindgen
LAB := $(shell find lab/src -type f) lab/build.mjs lab/tsconfig.json
DESCRIBED := $(shell find python/longpipe/scenario python/longpipe/lab python/longpipe/papers -name '*.py') \
	python/longpipe/units.py python/longpipe/absent.py $(wildcard scenarios/*.toml python/longpipe/examples/*.toml)

lab: $(PAGE)
	@:

$(PAGE): lab/build/engine/engine.js lab/build/description.json lab/node_modules/.installed $(LAB)
	cd lab && npm run --silent types && npm run --silent build

lab/node_modules/.installed: lab/package-lock.json
	@node --eval 'process.exit(Number.parseInt(process.versions.node) < 18 ? 1 : 0)' || { \
		echo "make lab needs node 18.19 or newer, and npm"; exit 1; }
	cd lab && npm ci --silent --no-audit --no-fund
	@touch $@

lab/build/description.json: $(VENV)/.built $(DESCRIBED)
	@mkdir -p lab/build
	$(BIN)/python -m longpipe.lab.description scenarios > $@.new
	@mv $@.new $@

lab/build/engine/engine.js: $(WASM) $(BINDGEN)
	$(BINDGEN) $(WASM) lab/build/engine

$(WASM): $(RUST)
	@test -d "$$(rustc --print target-libdir --target wasm32-unknown-unknown)" || { \
		echo "make lab needs Rust's target: rustup target add wasm32-unknown-unknown"; exit 1; }
	cargo build --profile wasm --package longpipe-wasm --target wasm32-unknown-unknown
	@touch $@

$(BINDGEN): lab/bindgen/Cargo.toml lab/bindgen/Cargo.lock lab/bindgen/src/main.rs
	cargo build --quiet --locked --manifest-path lab/bindgen/Cargo.toml --target-dir target/bindgen
	@touch $@

# The lab in real browsers: Chromium, found on the path or by CHROMIUM=, and a sample in Firefox, if it is installed (FIREFOX=).
lab-test: $(PAGE)
	$(BIN)/python lab/tests/expected.py > lab/build/expected.json
	cd lab && npm run --silent test

# The pages of docs/, with their notebooks run and the reference written from the code, in docs/_build/html.
docs: setup $(VENV)/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --jobs auto docs docs/_build/html

$(VENV)/.docs: $(VENV)/.built
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt 'longpipe[docs]'
	@touch $@

bench: setup
	cargo bench --package longpipe-network --bench engines
	cargo bench --package longpipe-network --bench ip

# The same works in longpipe, ns-2 and ns-3: make bench-rivals [JSON=FILE] [RUNS=5] [NS3_SHARE=0.2] [INSTALL=1]
bench-rivals: setup
	@$(BIN)/python benches/rivals compare $(if $(JSON),--json $(JSON)) $(if $(RUNS),--runs $(RUNS)) \
		$(if $(NS3_SHARE),--ns3-share $(NS3_SHARE)) $(if $(INSTALL),--install)

# Queues that act and Linux's senders, beside tail drop and ns-3: make bench-kinds [JSON=FILE] [RUNS=5] [NS3_SHARE=0.2]
bench-kinds: setup
	@$(BIN)/python benches/rivals kinds $(if $(JSON),--json $(JSON)) $(if $(RUNS),--runs $(RUNS)) \
		$(if $(NS3_SHARE),--ns3-share $(NS3_SHARE))

# Flows, rates and delays of any size: make bench-scaling [JSON=FILE] [RUNS=3] [OUT=results]
OUT ?= results
bench-scaling: setup
	@$(BIN)/python benches/rivals scaling --out $(OUT) $(if $(JSON),--json $(JSON)) $(if $(RUNS),--runs $(RUNS))

# Processor time to build, check, run and sum up 1000 to 50 000 flows, and to read a study: make bench-growth [FLOWS="1000 4000"]
bench-growth: setup
	@$(BIN)/python benches/growth.py $(FLOWS)

# Processor time of starts of the command, beside that of `import numpy`: make bench-startup [ROUNDS=15]
ROUNDS ?= 15
bench-startup: setup
	@$(BIN)/python benches/startup.py $(ROUNDS)

# Random scenarios through both engines: make soak CASES=100000 [FROM=N] [LINKS=move] [CHECKED=1]. Those over any graph are
# numbered from FROM on; what fails is counted by kind, and a few of each kind go into results/soak. LINKS=move has links that
# move, LINKS=reroute routes that change, too. CHECKED=1 finds overflows. Then 1000 kills of a campaign.
CASES ?= 20000
FROM ?= 0
FILES ?= 10000
CHECKS := --target-dir target/checked --config profile.ci.overflow-checks=true --config profile.ci.debug-assertions=true
soak: $(VENV)/.built
	cargo run --package longpipe-network --profile ci $(if $(CHECKED),$(CHECKS)) --example soak -- \
		--cases $(CASES) --from $(FROM) $(if $(LINKS),--links $(LINKS)) --out results/soak
	PROPTEST_CASES=$(CASES) cargo test --package longpipe-network --profile ci --test all engines:: -- --nocapture
	LONGPIPE_KILLS=1000 $(BIN)/python -m pytest tests/test_kills.py

# The complete sweeps of which `make test` takes samples (tests/thorough.py, tests/common/random.rs): random scenarios, and
# cases beside ns-2, Linux and tshark.
THOROUGH = $(shell grep -l '^from thorough import' tests/test_*.py)
validate: $(VENV)/.built
	LONGPIPE_THOROUGH=1 cargo test --package longpipe-network --profile ci --test all
	LONGPIPE_THOROUGH=1 $(BIN)/python -m pytest --numprocesses auto $(THOROUGH)

# Mutated files of every format, each read or refused in one line; what is not is kept in fuzz-failures/. Then single damaged
# bytes of a store, each read of which is right or says so.
fuzz: $(VENV)/.built
	$(BIN)/python tests/fuzz.py --cases $(FILES)
	$(BIN)/python tests/flips.py

# Records the results that crates/network/tests/all/golden.rs compares with; refused if one changed and the engine number did not.
golden:
	cargo run --package longpipe-network --profile ci --example golden

# The Rust tests with checks of overflow and of what the code takes for granted, which take a multiple of the time.
checked:
	cargo test $(TESTED) --profile ci $(CHECKS)

# The Rust tests' programs, which take as long to compile as all else that is waited for.
tests-built:
	cargo test $(TESTED) --profile ci --no-run

lint: lint-rust lint-wasm lint-python

# The boundary to browsers is excluded, because Cargo would have to compile other crates again for its libraries.
lint-rust:
	cargo fmt --all --check
	cargo fmt --manifest-path crates/stacks/Cargo.toml --check
	cargo clippy --workspace --exclude longpipe-wasm --all-targets --profile ci -- -D warnings

lint-wasm:
	cargo clippy --package longpipe-wasm --target wasm32-unknown-unknown --profile wasm -- -D warnings

lint-python: $(VENV)/.packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict

clean:
	cargo clean
	rm -rf $(VENV)
