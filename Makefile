# Two main targets: `make shootout` compares filesystems, `make test` tests fsarena.
# Both install the packages they need. Root (or sudo) is needed for that and for mounting.

TARGET  := x86_64-unknown-linux-gnu
FSARENA := target/$(TARGET)/release/fsarena
BENCH   := target/$(TARGET)/release/fsarena-bench
SUDO    := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: shootout test dist check-dist check-reproducible container s3-test fuzz traces bench bench-report bench-hosts error-rates error-rates-real agreement virtual-time kernel-changes power-cuts gallery docs check-affs build check style format clippy links clean

# Compares every filesystem that this machine supports: one round of all tests, then further rounds where an answer is
# still open, until BUDGET is spent. Ends with one screen of answers and writes an HTML page; `fsarena report` has all tables.
# BACKEND=vm compares every filesystem that guests support, without root; it builds the guest first.
BUDGET := 10min
ifeq ($(BACKEND),vm)
shootout: build
	@scripts/install-packages.sh qemu-system-x86
	$(FSARENA) run --backend vm --profile smoke
else
shootout: build
	@scripts/install-packages.sh $$($(FSARENA) doctor --packages)
	$(SUDO) $(FSARENA) run --profile quick --budget $(BUDGET)
endif

# Compares the speed of the engine with fio, bonnie++, fs_mark, dd and a bare C loop, and measures the boot time of a
# guest. Then counts the instructions of each operation in guests in virtual time: docs/benchmarks.md.
bench: build
	@scripts/install-packages.sh fio bonnie++ fsmark e2fsprogs qemu-system-x86
	cargo build --release --locked -p bench
	$(SUDO) $(BENCH) bench
	$(BENCH) instructions --document docs/benchmarks.md

# Makes the traces of the suite `traces` in a minute; `make traces TRACES=git` makes one of them.
TRACES :=
traces: build
	@scripts/install-packages.sh $$($(FSARENA) trace make --packages $(TRACES))
	$(SUDO) $(FSARENA) trace make $(TRACES)

# Measures memory and time for planning and collecting a million cells on ten thousand hosts: docs/many-machines.md.
# Needs 16 GiB of memory.
bench-hosts:
	cargo run --release --locked -p bench -- hosts

# Measures the time to analyse and report a million measurements, and the error rate of the statistics over simulated
# campaigns.
bench-report:
	cargo run --release --locked -p report --example million
	cargo test --release --locked -p stats error_rates -- --nocapture

# Counts wrong verdicts and found differences of 20 % in simulated campaigns: CAMPAIGNS per scenario with twelve
# contenders, more with fewer contenders. Takes hours. Fails if a rate is above its limit: docs/methodology.md.
error-rates:
	cargo run --release --locked -p stats --features fixture --example error_rates -- $(or $(CAMPAIGNS),80)

# Counts wrong verdicts in real campaigns: ext4 under four names, three rounds, half a minute each; needs root.
error-rates-real: build
	scripts/real-error-rates.sh $(or $(CAMPAIGNS),30)

# Compares results with those of bonnie++, IOzone and fio; writes the table in docs/agreement.md.
# IOzone is in non-free, which is enabled for apt only during its installation.
agreement: build
	@scripts/install-packages.sh fio bonnie++ e2fsprogs xfsprogs btrfs-progs
	@command -v iozone >/dev/null || { scripts/enable-components.sh non-free && \
	  scripts/install-packages.sh iozone3; scripts/enable-components.sh --remove; }
	cargo build --release --locked -p bench
	$(SUDO) $(BENCH) agreement --document docs/agreement.md

# Compares rankings in virtual time with those in real time; writes the tables in docs/virtual-time.md. Takes twenty
# minutes.
virtual-time: build
	@scripts/install-packages.sh qemu-system-x86 e2fsprogs xfsprogs btrfs-progs ntfs-3g exfat-fuse exfatprogs fuse2fs
	$(FSARENA) guest build
	$(SUDO) scripts/virtual-time.sh docs/virtual-time.md

# Compares filesystems on several kernels of Debian in guests, and writes docs/kernel-changes.md. Takes twenty minutes.
kernel-changes: build
	@scripts/install-packages.sh qemu-system-x86 gcc libc6-dev make xz-utils libelf1
	scripts/kernel-changes.py $(FSARENA) target/kernel-changes.db docs/kernel-changes.md

# Cuts the power of every filesystem that guests support and writes the losses into catalog/filesystems: docs/survival.md.
# Takes half an hour on two processors.
power-cuts: build
	@scripts/install-packages.sh qemu-system-x86
	$(FSARENA) guest build
	rm -f target/power-cuts.db
	$(FSARENA) run --backend vm -s survival --profile quick --rounds 1 --db target/power-cuts.db
	$(FSARENA) report --db target/power-cuts.db --format json | scripts/power-cuts.py

# Takes pictures of the report of the latest campaign, or of a new campaign if the database has none: docs/gallery.md.
gallery: build
	@scripts/install-packages.sh chromium
	@mkdir -p docs/gallery
	$(SUDO) $(FSARENA) report --format html --output docs/gallery/report.html || \
	  { $(MAKE) shootout && $(SUDO) $(FSARENA) report --format html --output docs/gallery/report.html; }
	cargo run --locked --package end-to-end --bin gallery -- docs/gallery/report.html docs/gallery

# Builds docs/ as a site with search in target/docs; docs/SUMMARY.md is its table of contents. Fails if a document is
# missing there or a link is broken.
MDBOOK_VERSION := 0.5.4
docs:
	scripts/check-docs.py
	target/tools/bin/mdbook --version 2>/dev/null | grep -qx 'mdbook v$(MDBOOK_VERSION)' || \
	  cargo install --locked --no-default-features --features search mdbook@$(MDBOOK_VERSION) --root target/tools
	target/tools/bin/mdbook build docs
	scripts/check-docs.py target/docs

# Runs every parser of outside input under a coverage-guided fuzzer, SECONDS each, JOBS in parallel; `make fuzz
# FUZZ_TARGET=campaign` runs one of them: docs/architecture.md.
FUZZ_TARGET := all
SECONDS     := 60
JOBS        := 1
fuzz:
	@scripts/install-packages.sh gcc g++ libc6-dev
	scripts/fuzz.sh $(FUZZ_TARGET) $(SECONDS) $(JOBS)

# Tests the cell cache in an S3 bucket against a local server, which pip installs.
s3-test:
	@scripts/install-packages.sh python3-venv gcc libc6-dev openssl
	[ -x target/s3-server/bin/python ] || python3 -m venv target/s3-server
	target/s3-server/bin/pip install --quiet 'moto[server]==5.2.1' boto3
	FSARENA_S3_PYTHON=$(CURDIR)/target/s3-server/bin/python \
	  cargo test --workspace --locked --features backend/s3 --test s3

# Checks the AFFS volumes of `fsarena tool format` with amitools, which pip installs.
check-affs: build
	@scripts/install-packages.sh python3-venv
	scripts/check-affs.sh $(FSARENA)

build:
	@scripts/install-packages.sh gcc libc6-dev
	cargo build --release --locked

# Packs a tarball and a Debian package with manual pages and completions, and their checksums, into target/dist. Equal
# sources give equal bytes.
dist:
	@scripts/install-packages.sh gcc libc6-dev
	scripts/build-reproducibly.sh
	scripts/dist.sh target/reproducible/x86_64-unknown-linux-gnu/release/fsarena target/dist

# Builds the program in two directories and compares the bytes.
check-reproducible:
	scripts/check-reproducible.sh

# Makes a container image with QEMU and a guest, for Docker and Podman, in target/dist.
container: dist
	@scripts/install-packages.sh mmdebstrap
	strip -o target/dist/fsarena target/reproducible/x86_64-unknown-linux-gnu/release/fsarena
	scripts/container.sh target/dist/fsarena target/dist
	rm target/dist/fsarena

# Installs these packages on clean roots of the Debian RELEASES, and compares filesystems in a guest there.
RELEASES := bookworm trixie
check-dist: dist
	@scripts/install-packages.sh lintian mmdebstrap busybox-static
	$(SUDO) scripts/check-dist.sh target/dist $(RELEASES)

# Test programs that run campaigns, guests, a browser or devices and need root. Their manifests have `test = false`, so
# that `check` does not run them.
ROOT_TESTS := alone devices guests host smoke
# Unit, property and snapshot tests, and end-to-end tests, which need root.
UNIT_TESTS := cargo test --workspace --all-targets --locked --no-fail-fast
END_TO_END := cargo test --workspace --locked --no-fail-fast
CLIPPY     := cargo clippy --workspace --all-targets --locked
# `cargo fmt` does not find the files of operations, because a macro declares their modules.
FORMAT     := python3 scripts/prose_lint.py . --max 20 --max-part 30 && cargo fmt --all --check && \
  rustfmt --edition 2024 --check crates/model/src/op/*.rs

# Runs all tests, several groups at the same time. A failure does not hide others: all groups run to the end. The compiler of
# clippy builds them and checks its lints at once; `cargo clippy` passes the same arguments to it.
test: export RUSTC_WORKSPACE_WRAPPER := clippy-driver
test: export CLIPPY_ARGS := -D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
test:
	@scripts/install-packages.sh gcc libc6-dev python3
	@# apt installs the programs of the tests while the compiler works.
	@scripts/install-packages.sh $$(cat scripts/test-packages) & packages=$$!; \
	  { $(FORMAT) && $(UNIT_TESTS) --no-run && \
	    $(END_TO_END) --no-run $(addprefix --test ,$(ROOT_TESTS)); }; built=$$?; \
	  wait $$packages && exit $$built
	@UNIT_TESTS='$(UNIT_TESTS)' END_TO_END='$(END_TO_END)' scripts/run-tests.sh

# Runs everything that needs no guest, browser or device.
check: style links
	$(UNIT_TESTS)

# Finds broken links in the documents, and links to items that do not exist in the documentation of the code.
links:
	scripts/check-docs.py
	RUSTDOCFLAGS="-D rustdoc::broken_intra_doc_links -A rustdoc::private_intra_doc_links" cargo doc --workspace --no-deps --document-private-items --locked

style: format clippy

format:
	@scripts/install-packages.sh $$(cat scripts/test-packages)
	$(FORMAT)

clippy:
	$(CLIPPY) -- -D warnings
	cargo clippy --workspace --locked $(addprefix --test ,$(ROOT_TESTS)) -- -D warnings

clean:
	cargo clean
