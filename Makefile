# Two commands do everything: `make reproduce` and `make test`. Needs Python >= 3.11 and Rust.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Papers that `make reproduce` reproduces; by default all of them.
PAPERS ?= $(shell $(BIN)/python -c 'from longpipe_evidence.papers import IDS; print(*IDS)')
RUST := $(shell find crates -name '*.rs' -o -name 'Cargo.toml') Cargo.toml

# All crates except the bindings for browsers, which are tested in a browser. The bindings for Python have no Rust tests, but are
# included so that Cargo compiles the other crates only once, for the tests and for Python.
TESTED := --workspace --exclude longpipe-wasm --tests

.PHONY: setup models reproduce test stacks more-stacks stacks-ngtcp2 stacks-picoquic stacks-quiche stacks-s2n-quic stacks-quic-go stacks-aioquic embed wheel wheels sdist lab lab-test docs bench bench-rivals bench-kinds bench-instructions bench-pgo bench-scaling bench-growth bench-constellation bench-threads bench-sharing bench-campaign bench-startup soak validate fuzz checked golden tests-built lint lint-rust lint-wasm lint-stacks lint-python clean

# Python packages are installed, and tests are compiled, in parallel with the core, unless make was called with --jobs.
TWO_AT_ONCE = $(MAKE) --silent --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=2)

setup:
	+@$(TWO_AT_ONCE) $(VENV)/.built

$(VENV)/.tools: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("longpipe needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@echo "1/3: a virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt maturin
	@touch $@

# Requirements of the package and of its development. They do not depend on the core, so mypy can run while it is compiled.
REQUIRED := import tomllib; told = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*told["dependencies"], *told["optional-dependencies"]["dev"], sep="\n")

$(VENV)/.packages: $(VENV)/.tools pyproject.toml
	@echo "2/3: Python's packages"
	@$(BIN)/python -c '$(REQUIRED)' >$@.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --requirement $@.txt
	@touch $@

# Cargo's profile of the core: `ci` compiles much faster than `release` and shares its crates with the tests, but the result
# is slightly slower.
PROFILE ?= release

DEVELOP := VIRTUAL_ENV=$(VENV) PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
	$(BIN)/maturin develop --profile $(PROFILE)

# The core, which can be compiled before the packages are installed.
$(VENV)/.compiled: $(VENV)/.tools $(RUST)
	@echo "3/3: the core: two to five minutes on two cores, less if only a part of it changed"
	$(DEVELOP) --skip-install
	@touch $@

# The package itself. Afterwards, a change of the core recompiles only the core.
$(VENV)/.built: $(VENV)/.packages $(VENV)/.compiled
	$(if $(filter %.packages,$?),$(DEVELOP))
	@touch $@

# Python's models of the parts of a scenario that the core describes (docs/architecture.md, "Descriptions").
models: $(VENV)/.built
	$(BIN)/python crates/describe/generate.py

# Real stacks as endpoints of flows (docs/stacks.md), a separate package: about four minutes of CPU time.
STACKS := $(shell find crates/stacks crates/end -name '*.rs' -o -name '*.toml' -o -name '*.lock' -o -name '*.py')

stacks: $(VENV)/.stacks
	@:

# The stacks have a profile `ci` of their own.
STACKS_PROFILE := $(if $(filter ci,$(PROFILE)),ci,release)

# Installed after the other packages, because concurrent installations may conflict.
$(VENV)/.stacks: $(VENV)/.packages $(STACKS)
	@echo "real stacks: quinn, noq and str0m"
	PIP_CONSTRAINT=constraints.txt LONGPIPE_STACKS_PROFILE=$(STACKS_PROFILE) \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check ./crates/stacks
	@touch $@

# Further stacks (docs/more-stacks.md): each target builds an object for `traffic.file` in target/ends, with what its page names.
# No test builds them; tests of objects that are missing are skipped.
ENDS := target/ends
C_END := cc -O2 -std=c11 -Wall -Wextra -Werror -shared -fPIC -Wl,-z,defs -I python/longpipe/own_stacks/include \
	-DCERTIFICATES='"crates/stacks/certificate"'
C_END_FILES := integrations/stacks/adapter.h python/longpipe/own_stacks/include/longpipe_end.h $(wildcard crates/stacks/certificate/*)
NGTCP2 := libngtcp2 libngtcp2_crypto_gnutls libnghttp3 gnutls

# CHANGED=FOLDER is a changed copy of the library of quiche, s2n-quic or quic-go, with which the object is always built.
CHANGED ?=
ALWAYS := $(if $(CHANGED),always)
# Arguments: the crate that is changed.
CARGO_END = cargo build --release $(if $(CHANGED),--config 'patch.crates-io.$(1).path="$(abspath $(CHANGED))"',--locked)

.PHONY: always
always:

# Builds those that can be built.
more-stacks:
	@for name in ngtcp2 picoquic quiche s2n-quic quic-go aioquic; do $(MAKE) --silent --no-print-directory stacks-$$name || true; done

stacks-ngtcp2: $(ENDS)/ngtcp2.so
	@:

$(ENDS)/ngtcp2.so: integrations/stacks/ngtcp2.c $(C_END_FILES)
	@pkg-config --exists "libngtcp2 >= 0.12" "libngtcp2 < 0.13" libngtcp2_crypto_gnutls libnghttp3 || { \
		echo "stacks-ngtcp2: not built; needs ngtcp2 0.12 with GnuTLS, in Debian 12: libngtcp2-dev libngtcp2-crypto-gnutls-dev libnghttp3-dev"; exit 1; }
	@mkdir -p $(ENDS)
	$(C_END) $< -o $@ $$(pkg-config --cflags --libs $(NGTCP2)) -lm

stacks-picoquic: $(ENDS)/picoquic.so
	@:

$(ENDS)/picoquic.so: integrations/stacks/picoquic.c integrations/stacks/picoquic.py $(C_END_FILES)
	@$(PYTHON) integrations/stacks/picoquic.py $(ENDS)/picoquic crates/stacks/certificate
	$(C_END) -DBUILT='"$(ENDS)/picoquic"' $< -o $@ -lm

stacks-quiche: $(ENDS)/quiche.so
	@:

$(ENDS)/quiche.so: $(wildcard integrations/stacks/quiche/* integrations/stacks/quiche/src/* crates/end/src/*) $(C_END_FILES) $(ALWAYS)
	$(call CARGO_END,quiche) --manifest-path integrations/stacks/quiche/Cargo.toml --target-dir $(ENDS)/quiche || { \
		echo "stacks-quiche: not built; needs Rust 1.89, CMake, a C++ compiler and libclang (libclang-dev)"; exit 1; }
	cp $(ENDS)/quiche/release/liblongpipe_quiche.so $@

stacks-s2n-quic: $(ENDS)/s2n-quic.so
	@:

$(ENDS)/s2n-quic.so: $(wildcard integrations/stacks/s2n-quic/* integrations/stacks/s2n-quic/src/* crates/end/src/*) $(C_END_FILES) $(ALWAYS)
	$(call CARGO_END,s2n-quic) --manifest-path integrations/stacks/s2n-quic/Cargo.toml --target-dir $(ENDS)/s2n-quic || { \
		echo "stacks-s2n-quic: not built; needs Rust 1.95, CMake and a C compiler"; exit 1; }
	cp $(ENDS)/s2n-quic/release/liblongpipe_s2n_quic.so $@

stacks-quic-go: $(ENDS)/quic-go
	@:

# The overlay adds a file to Go's package runtime, and the certificate, which must appear below the module.
GO ?= $(or $(shell command -v go),/usr/local/go/bin/go)
GO_END := $(CURDIR)/integrations/stacks/quic-go
GO_CHANGED := replace github.com/quic-go/quic-go => $(abspath $(CHANGED))
$(ENDS)/quic-go: $(wildcard $(GO_END)/*) $(wildcard crates/stacks/certificate/*) $(ALWAYS)
	@$(GO) version 2>&1 | grep -q "go1.26" || { echo "stacks-quic-go: not built; needs Go 1.26 (GO=PROGRAM)"; exit 1; }
	@mkdir -p $(ENDS)
	@printf '{"Replace": {"%s": "%s", "%s": "%s", "%s": "%s"}}' \
		"$$($(GO) env GOROOT)/src/runtime/longpipe.go" "$(GO_END)/runtime.go.overlay" \
		"$(GO_END)/certificate.der" "$(CURDIR)/crates/stacks/certificate/certificate.der" \
		"$(GO_END)/key.der" "$(CURDIR)/crates/stacks/certificate/key.der" > $(ENDS)/quic-go.overlay.json
	@{ cat $(GO_END)/go.mod; echo $(if $(CHANGED),'$(GO_CHANGED)'); } > $(ENDS)/quic-go.mod && cp $(GO_END)/go.sum $(ENDS)/quic-go.sum
	cd $(GO_END) && $(GO) test -c -trimpath -modfile $(CURDIR)/$(ENDS)/quic-go.mod -overlay $(CURDIR)/$(ENDS)/quic-go.overlay.json \
		-o $(CURDIR)/$@ . || { \
		echo "stacks-quic-go: not built; needs Go 1.26 and its module proxy"; exit 1; }

# aioquic needs no object: its end is a program in Python.
stacks-aioquic: $(VENV)/.packages
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt aioquic || { \
		echo "stacks-aioquic: not installed; needs the package aioquic"; exit 1; }

# A path for tests in other languages, and the example of docs/embed.md.
embed: $(VENV)/.built
	cargo rustc --package longpipe-path --profile $(PROFILE) --crate-type cdylib
	cd integrations/embed/tests && $(abspath $(BIN))/python -c 'from longpipe import Scenario; from longpipe.live import plan; \
		print(plan(Scenario.from_toml("path.toml"), ("source1", "sink1")).resolved_json)' > path.json
	cargo test --manifest-path integrations/embed/Cargo.toml --target-dir target/embed

reproduce: setup
	@$(BIN)/longpipe reproduce $(PAPERS)
	@$(BIN)/longpipe report $(PAPERS)

# Random cases are the same in each run, so that a failure is caused by the change under test; `make soak` draws other cases.
SEED ?= 1
test:
	+@$(TWO_AT_ONCE) $(VENV)/.built tests-built $(VENV)/.stacks
	PROPTEST_RNG_SEED=$(SEED) cargo test $(TESTED) --profile ci
	# The stacks are a separate workspace, which was already compiled for their package.
	cargo test --profile $(STACKS_PROFILE) --locked --workspace --manifest-path crates/stacks/Cargo.toml --target-dir target/stacks
	# Files run in the order of tests/conftest.py, because pytest-xdist would run the files with the fewest tests last, and these take
	# longest.
	# There are two workers per processor, because tests of `longpipe live`, locks and signals wait in real time for more than a third
	# of the time that all tests take.
	$(BIN)/python -m pytest --numprocesses $$((2 * $$(getconf _NPROCESSORS_ONLN))) --dist loadfile --no-loadscope-reorder --hypothesis-profile ci --durations 25

# One wheel for Python 3.11 and newer on this platform, in dist/; installing it does not need Rust. It is built with the Python
# of `setup`, because all crates would be compiled again with another one.
wheel: $(VENV)/.tools
	rm -rf dist
	@$(LAB_MISSING)
	VIRTUAL_ENV=$(VENV) $(BIN)/maturin build --profile $(PROFILE) --out dist

# A profile of the core, recorded while it computes its golden results, which contain every kind of queue, link and control. It
# applies to builds for the target HOST with the same Cargo profile.
PGO := $(abspath target/pgo)
PROFILED := $(PGO)/$(PROFILE).profile
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
LLVM_PROFDATA = $(wildcard $(shell rustc --print target-libdir)/../bin/llvm-profdata)
PGO_BUILD = cargo build --package longpipe-network --profile $(PROFILE) --example run --example golden --target $(HOST) --target-dir

$(PROFILED): $(RUST)
	@test -n "$(LLVM_PROFDATA)" || { echo "llvm-profdata is missing: rustup component add llvm-tools" >&2; exit 1; }
	rm -rf $(PGO)/raw
	RUSTFLAGS="-Cprofile-generate=$(PGO)/raw" $(PGO_BUILD) $(PGO)/instrumented
	$(PGO)/instrumented/$(HOST)/$(PROFILE)/examples/golden
	$(LLVM_PROFDATA) merge --output $@ $(PGO)/raw

# Wheels for manylinux2014 on x86-64 and AArch64, in dist/: zig links the core with the C library of that platform, glibc 2.17.
wheels: $(VENV)/.tools
	@$(LAB_MISSING)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ziglang
	rustup target add x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
	for machine in x86_64 aarch64; do \
		VIRTUAL_ENV=$(VENV) PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --profile $(PROFILE) --zig --compatibility manylinux2014 \
			--target $$machine-unknown-linux-gnu --out dist || exit 1; \
	done

# The sources as one archive in dist/, from which pip builds if there is no wheel; includes the lab if it was built.
sdist: $(VENV)/.tools
	@$(LAB_MISSING)
	$(BIN)/maturin sdist --out dist

# Warns that the result will not contain the lab.
LAB_MISSING = test -f $(PAGE) || echo "warning: $(PAGE) is missing, so this has no lab; run make lab before" >&2

# The lab, one HTML file that becomes part of the package (docs/lab.md). Needs node 18.19 or newer, npm, and Rust's target
# wasm32-unknown-unknown: `rustup target add wasm32-unknown-unknown`.
PAGE := python/longpipe/lab/page.html
WASM := target/wasm32-unknown-unknown/wasm/longpipe_wasm.wasm
BINDGEN := target/bindgen/debug/bindgen
LAB := $(shell find lab/src -type f) lab/build.mjs lab/tsconfig.json
DESCRIBED := $(shell find python/longpipe/scenario python/longpipe/lab python/longpipe_evidence/papers -name '*.py') \
	python/longpipe/units.py python/longpipe/errors/alternatives.py Cargo.toml $(wildcard scenarios/*.toml python/longpipe/examples/*.toml)

lab: $(PAGE)
	@:

$(PAGE): lab/build/engine/engine.js lab/build/description.json lab/node_modules/.installed $(LAB)
	cd lab && npm run --silent types && PYTHON=$(abspath $(BIN)/python) npm run --silent build

lab/node_modules/.installed: lab/package-lock.json
	@node --eval 'process.exit(Number.parseInt(process.versions.node) < 18 ? 1 : 0)' || { \
		echo "make lab needs node 18.19 or newer, and npm"; exit 1; }
	cd lab && npm ci --silent --no-audit --no-fund
	@touch $@

# The models read facts of controls from the core.
lab/build/description.json: $(VENV)/.built lab/describe.py $(DESCRIBED)
	@mkdir -p lab/build
	$(BIN)/python lab/describe.py scenarios > $@.new
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

# Tests the lab in Chromium, found on the path or set by CHROMIUM=, and a sample of the tests in Firefox, if installed (FIREFOX=).
lab-test: $(VENV)/.built $(PAGE)
	$(BIN)/python lab/tests/expected.py > lab/build/expected.json
	cd lab && npm run --silent test

# Builds docs/ as HTML in docs/_build/html; executes the notebooks and generates the reference from the code.
docs: setup $(VENV)/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --jobs auto docs docs/_build/html

$(VENV)/.docs: $(VENV)/.built
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt 'longpipe[docs]'
	@touch $@

bench: setup
	cargo bench --package longpipe-network --bench engines
	cargo bench --package longpipe-network --bench ip

# Equal workloads in longpipe, ns-2 and ns-3: make bench-rivals [JSON=FILE] [RUNS=5] [NS3_SHARE=0.2] [INSTALL=1]
bench-rivals: setup
	@$(BIN)/python benches/rivals compare $(if $(JSON),--json $(JSON)) $(if $(RUNS),--runs $(RUNS)) \
		$(if $(NS3_SHARE),--ns3-share $(NS3_SHARE)) $(if $(INSTALL),--install)

# Queue disciplines and Linux's senders, compared with tail drop and ns-3: make bench-kinds [JSON=FILE] [RUNS=5] [NS3_SHARE=0.2]
bench-kinds: setup
	@$(BIN)/python benches/rivals kinds $(if $(JSON),--json $(JSON)) $(if $(RUNS),--runs $(RUNS)) \
		$(if $(NS3_SHARE),--ns3-share $(NS3_SHARE))

# Instructions per packet, which do not depend on the load of the machine (needs valgrind): make bench-instructions [JSON=FILE]
bench-instructions: setup
	cargo build --package longpipe-network --profile $(PROFILE) --example run
	@$(BIN)/python benches/rivals instructions --program target/$(PROFILE)/examples/run $(if $(JSON),--json $(JSON))

# Likewise, but for a build that is optimized by the profile above (needs llvm-tools); its golden results must be equal.
bench-pgo: setup $(PROFILED)
	RUSTFLAGS="-Cprofile-use=$(PROFILED)" $(PGO_BUILD) $(PGO)/optimized
	$(PGO)/optimized/$(HOST)/$(PROFILE)/examples/golden
	@$(BIN)/python benches/rivals instructions --program $(PGO)/optimized/$(HOST)/$(PROFILE)/examples/run $(if $(JSON),--json $(JSON))

# Speed against the number of flows, the rate and the delay: make bench-scaling [JSON=FILE] [RUNS=3] [OUT=results]
OUT ?= results
bench-scaling: setup
	@$(BIN)/python benches/rivals scaling --out $(OUT) $(if $(JSON),--json $(JSON)) $(if $(RUNS),--runs $(RUNS))

# CPU time to build, check, run and summarize 1000 to 50 000 flows, and to read studies of up to a million runs:
# make bench-growth [FLOWS="1000 4000"]
bench-growth: setup
	@$(BIN)/python benches/growth.py $(FLOWS)

# CPU time of a constellation as a graph with traffic between all cities: make bench-constellation [ARGS="starlink-550 100 60"]
bench-constellation: setup
	@$(BIN)/python benches/constellation.py $(ARGS)

# Speed-up of one run by threads: make bench-threads [ARGS="--large 2"]
bench-threads: setup
	cargo build --package longpipe-network --profile $(PROFILE) --example run
	@$(BIN)/python benches/threads.py --program target/$(PROFILE)/examples/run $(ARGS)

# Time of 10 000 short runs from the command to the CSV, and CPU time of storing: make bench-campaign [STORE=postgresql://...]
bench-campaign: setup
	@$(BIN)/python benches/campaign.py $(STORE)

# Duration of a campaign that two clients share, compared with half of that of one: make bench-sharing [STORE=postgresql://...]
bench-sharing: setup
	@$(BIN)/python benches/sharing.py $(STORE)

# CPU time to start each command, compared with `import numpy`: make bench-startup [ROUNDS=15]
ROUNDS ?= 15
bench-startup: setup
	@$(BIN)/python benches/startup.py $(ROUNDS)

# Random scenarios in both engines: make soak CASES=100000 [FROM=N] [LINKS=move] [CHECKED=1]. Scenarios over arbitrary graphs
# are numbered from FROM on; failures are counted by kind, and some of each kind are written to results/soak. LINKS=move adds
# time-varying links, LINKS=reroute also changing routes. CHECKED=1 detects overflows. Afterwards a campaign is killed 1000 times.
CASES ?= 20000
FROM ?= 0
FILES ?= 10000
CHECKS := --target-dir target/checked --config profile.ci.overflow-checks=true --config profile.ci.debug-assertions=true
soak: $(VENV)/.built
	cargo run --package longpipe-network --profile ci $(if $(CHECKED),$(CHECKS)) --example soak -- \
		--cases $(CASES) --from $(FROM) $(if $(LINKS),--links $(LINKS)) --out results/soak
	PROPTEST_CASES=$(CASES) cargo test --package longpipe-network --profile ci --test all engines:: -- --nocapture
	LONGPIPE_KILLS=1000 $(BIN)/python -m pytest tests/test_kills.py

# The complete sweeps, of which `make test` and `make lab-test` run samples (tests/thorough.py, tests/common/random.rs): random
# scenarios, and comparisons with ns-2, Linux and tshark.
THOROUGH = $(shell grep -l '^from thorough import' tests/test_*.py)
validate: $(VENV)/.built
	LONGPIPE_THOROUGH=1 cargo test --package longpipe-network --profile ci --test all
	LONGPIPE_THOROUGH=1 $(BIN)/python -m pytest --numprocesses auto $(THOROUGH)
	LONGPIPE_THOROUGH=1 $(MAKE) lab-test

# Mutated files of every format, each of which must be read, or rejected with a one-line error; other files are kept in
# fuzz-failures/. Then single damaged bytes of a store, which must be reported or have no effect on the results read.
fuzz: $(VENV)/.built
	$(BIN)/python tests/fuzz.py --cases $(FILES)
	$(BIN)/python tests/flips.py

# Records the reference results of crates/network/tests/all/golden.rs; fails if a result changed but the engine number did not.
golden:
	cargo run --package longpipe-network --profile ci --example golden

# The Rust tests with overflow checks and debug assertions, which take several times as long.
checked:
	cargo test $(TESTED) --profile ci $(CHECKS)

# Compiles the Rust tests, which takes as long as everything else together.
tests-built:
	cargo test $(TESTED) --profile ci --no-run

lint: lint-rust lint-wasm lint-python

# The environment with which maturin calls Cargo; otherwise, PyO3 and all crates that use it would be compiled again before and after.
AS_MATURIN = PYO3_PYTHON=$(abspath $(BIN)/python) \
	PYO3_ENVIRONMENT_SIGNATURE=$$($(BIN)/python -c 'import sys; print("cpython-%d.%d-64bit" % sys.version_info[:2])')

# The bindings for browsers are excluded, because Cargo would have to compile other crates again for them.
lint-rust: $(VENV)/.tools
	cargo fmt --all --check
	cargo fmt --all --manifest-path crates/stacks/Cargo.toml --check
	$(AS_MATURIN) cargo clippy --workspace --exclude longpipe-wasm --all-targets --profile ci -- -D warnings

lint-wasm:
	cargo clippy --package longpipe-wasm --target wasm32-unknown-unknown --profile wasm -- -D warnings

# Not part of `lint`, because it compiles the libraries of the stacks for a minute or two.
lint-stacks:
	cargo clippy --manifest-path crates/stacks/Cargo.toml --workspace --all-targets --target-dir target/stacks-clippy --locked -- -D warnings

lint-python: $(VENV)/.packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict

clean:
	cargo clean
	rm -rf $(VENV)
