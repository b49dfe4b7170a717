# Two commands matter: `make shootout` compares filesystems, `make test` tests fsarena.
# Each installs what it needs; root, or sudo, is used for that and for mounting.

TARGET  := x86_64-unknown-linux-gnu
FSARENA := target/$(TARGET)/release/fsarena
BENCH   := target/$(TARGET)/release/fsarena-bench
SUDO    := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: shootout test s3-test fuzz traces bench bench-record bench-report bench-hosts error-rates error-rates-real agreement virtual-time gallery check-affs build check clean

# Every filesystem this machine supports: one round of everything, then more of what could settle an open answer until
# BUDGET is spent; then the answers, tables and an HTML report. With BACKEND=vm
# every filesystem guests support, without root; builds the guest first.
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

# How fast the engine is beside fio, bonnie++, fs_mark, dd and a bare loop in C, and how soon a guest is up, whose
# agent is what `build` makes; then the instructions of an operation on both sides, counted in guests in virtual time:
# docs/benchmarks.md.
bench: build
	@scripts/install-packages.sh fio bonnie++ fsmark e2fsprogs qemu-system-x86
	cargo build --release --locked -p bench
	$(SUDO) $(BENCH) bench
	$(BENCH) instructions --document docs/benchmarks.md

# What recording a command costs beside tracing it with strace: docs/recording-traces.md.
bench-record: build
	@scripts/install-packages.sh strace gcc libc6-dev make
	cargo build --release --locked -p bench
	$(BENCH) record

# The traces of the suite `traces`, where campaigns look for them; `make traces TRACES=git` for one of them. A minute.
TRACES :=
traces: build
	@scripts/install-packages.sh $$($(FSARENA) trace make --packages $(TRACES))
	$(SUDO) $(FSARENA) trace make $(TRACES)

# What up to a million cells over ten thousand hosts take of the machine that plans and collects, in memory and time:
# docs/many-machines.md. Takes 16 GiB of memory.
bench-hosts:
	cargo run --release --locked -p bench -- hosts

# How long a campaign of a million measurements takes to be analysed and shown; and how often the
# statistics are wrong, counted over campaigns whose truth is known.
bench-report:
	cargo run --release --locked -p report --example million
	cargo test --release --locked -p analyse error_rates -- --nocapture

# How often verdicts are wrong, and how often a difference of 20 % is found, counted over CAMPAIGNS simulated campaigns
# for each scenario; fails where a limit is passed: docs/methodology.md.
CAMPAIGNS := 2000
error-rates:
	cargo run --release --locked -p analyse --features fixture --example error_rates -- $(CAMPAIGNS)

# The same, counted over real campaigns: ext4 under four names, three rounds. Half a minute each; needs root.
error-rates-real: build
	scripts/real-error-rates.sh $(or $(CAMPAIGNS),30)

# Whether it measures what bonnie++, IOzone and fio measure; writes the table in docs/agreement.md.
# IOzone is not in Debian's main: apt is shown non-free for as long as it takes to install it.
agreement: build
	@scripts/install-packages.sh fio bonnie++ e2fsprogs xfsprogs btrfs-progs
	@command -v iozone >/dev/null || { scripts/enable-components.sh non-free && \
	  scripts/install-packages.sh iozone3; scripts/enable-components.sh --remove; }
	cargo build --release --locked -p bench
	$(SUDO) $(BENCH) agreement --document docs/agreement.md

# How far virtual time agrees with real time on who is better; writes the tables in docs/virtual-time.md. Twenty minutes.
virtual-time: build
	@scripts/install-packages.sh qemu-system-x86 e2fsprogs xfsprogs btrfs-progs ntfs-3g exfat-fuse exfatprogs fuse2fs
	$(FSARENA) guest build
	$(SUDO) scripts/virtual-time.sh docs/virtual-time.md

# Pictures of the report of the last campaign, or of a new one where there is none: docs/gallery.md.
gallery: build
	@scripts/install-packages.sh chromium
	@mkdir -p docs/gallery
	$(SUDO) $(FSARENA) report --format html --output docs/gallery/report.html || \
	  { $(MAKE) shootout && $(SUDO) $(FSARENA) report --format html --output docs/gallery/report.html; }
	cargo run --locked --package end-to-end --bin gallery -- docs/gallery/report.html docs/gallery

# Every parser of outside input under a coverage-guided fuzzer, SECONDS each and JOBS at once; `make fuzz
# FUZZ_TARGET=campaign` for one of them. What crashes is a fault: docs/architecture.md.
FUZZ_TARGET := all
SECONDS     := 60
JOBS        := 1
fuzz:
	@scripts/install-packages.sh gcc g++ libc6-dev
	scripts/fuzz.sh $(FUZZ_TARGET) $(SECONDS) $(JOBS)

# The cache of cells in a bucket, with a real S3 server on this machine, which pip brings.
s3-test:
	@scripts/install-packages.sh python3-venv gcc libc6-dev openssl
	[ -x target/s3-server/bin/python ] || python3 -m venv target/s3-server
	target/s3-server/bin/pip install --quiet 'moto[server]==5.2.1' boto3
	FSARENA_S3_PYTHON=$(CURDIR)/target/s3-server/bin/python \
	  cargo test --workspace --locked --features bucket/s3 --test s3

# Whether amitools, which pip brings, takes the AFFS volumes that `fsarena format` makes.
check-affs: build
	@scripts/install-packages.sh python3-venv
	scripts/check-affs.sh $(FSARENA)

build:
	@scripts/install-packages.sh gcc libc6-dev
	cargo build --release --locked

# Programs of tests that run campaigns, guests, a browser or devices, with root: their manifests say `test = false`, so
# that `check` leaves them out.
ROOT_TESTS := alone devices guests host smoke
# Twice as many at once as there are processors: most of them wait, for a disk, a browser or a time limit.
AT_ONCE    := $(shell expr 2 '*' $$(nproc))

# What `check` does, then end-to-end tests.
test: check
	RUST_TEST_THREADS=$(AT_ONCE) cargo test --workspace --locked $(addprefix --test ,$(ROOT_TESTS))

# The inner loop: style first, as it fails fastest; then unit, property and snapshot tests.
check:
	@scripts/install-packages.sh $$(cat scripts/test-packages)
	cargo fmt --all --check
	# Files that a macro names, which cargo fmt does not see.
	rustfmt --edition 2024 --check crates/model/src/op/*.rs
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --workspace --locked $(addprefix --test ,$(ROOT_TESTS)) -- -D warnings
	cargo test --workspace --all-targets --locked

clean:
	cargo clean
