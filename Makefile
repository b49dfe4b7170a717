# Two commands matter: `make shootout` compares filesystems, `make test` tests fsarena.
# Each installs what it needs; root, or sudo, is used for that and for mounting.

TARGET  := x86_64-unknown-linux-gnu
FSARENA := target/$(TARGET)/release/fsarena
SUDO    := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: shootout test build check clean

# Every contender that this machine can drive, three rounds, then a table and an HTML report.
shootout: build
	@scripts/install-packages.sh $$($(FSARENA) doctor --packages)
	$(SUDO) $(FSARENA) run --profile quick

build:
	@scripts/install-packages.sh gcc libc6-dev
	cargo build --release --locked

# Style first, as it fails fastest; then unit, property, snapshot and end-to-end tests.
test: check
	cargo test --workspace --all-targets --locked

check:
	@scripts/install-packages.sh $$(cat scripts/test-packages)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

clean:
	cargo clean
