# SSNAIL's tools. `make help` lists the targets; rules for models are in models.mk.

.DEFAULT_GOAL := help
include $(dir $(lastword $(MAKEFILE_LIST)))models.mk

DEMO := $(SSNAIL_DIR)ssnail-convert/assets/snailtales.gguf

# Targets and what they do
.PHONY: help
help:
	@echo 'Models (from any folder: make -f $(SSNAIL_DIR)models.mk foo.ssnail):'
	@echo '  foo.ssnail       image of foo.gguf for ATTICRAM=8 MB (= foo.8mb.ssnail)'
	@echo '  foo.8mb.ssnail   foo.64mb.ssnail   foo.72mb.ssnail'
	@echo '  foo.all          every size that the model fits'
	@echo '  foo.run          run it: PROMPT="Once upon a time" TOKENS=128'
	@echo '  foo.info         tell what is in the model'
	@echo '  foo.tokcheck     compare the image'"'"'s tokenizer with the model'"'"'s: TEXT=file'
	@echo '  variables        CONTEXT_WINDOW= WTYPE=auto ATTICRAM=8 TYPE=General FALLBACK=q8_0 KV=f16'
	@echo 'Project:'
	@echo '  demo             convert and run the embedded model'
	@echo '  test             everything that CI checks (model data: SSNAIL_TEST_DATA)'
	@echo '  gen, check-gen   write, or only check, the generated files'
	@echo '  campaign         a million cases of each hardware operation'
	@echo '  bench            benchmarks (not tests)'
	@echo '  hdl-tools        install GHDL, Verilator and yosys as far as they are missing'
	@echo '  cosim            the VHDL against the emulator: units, CPU side, PROGRAMS=2000 random programs, replay in GHDL'
	@echo '  cosim-long       ten times as many cases, and 40,000 programs'
	@echo '  cycles, area     figures of the VHDL; mutations: break it in known ways and see each caught'

# A story from the model that comes with the tools
.PHONY: demo
demo: $(CONVERT) $(SIM)
	@mkdir -p $(SSNAIL_DIR)target/demo
	$(CONVERT) $(DEMO) -o $(SSNAIL_DIR)target/demo/snailtales.ssnail
	$(SIM) $(SSNAIL_DIR)target/demo/snailtales.ssnail --prompt 'Once upon a time' -n 160 --stats

.PHONY: test
test: check-gen hdl-tools hdl-rules
	cd $(SSNAIL_DIR) && cargo fmt --all --check
	cd $(SSNAIL_DIR) && cargo clippy --workspace --all-targets -- -D warnings
	cd $(SSNAIL_DIR) && cargo test --workspace
	$(SSNAIL_DIR)ssnail-convert/tests/make.sh

# Files made from tables and functions
.PHONY: gen check-gen
gen:
	cd $(SSNAIL_DIR) && cargo run -q -p ssnail-isa -- reference > target/reference.md && mv target/reference.md ssnail-isa/REFERENCE.md
	cd $(SSNAIL_DIR) && cargo run -q -p ssnail-hw --example gen-tables > target/data.rs && mv target/data.rs ssnail-hw/src/tables/data.rs
	cd $(SSNAIL_DIR) && cargo run -q -p ssnail-isa -- vhdl > target/isa.vhd && mv target/isa.vhd hdl/pkg/ssnail_isa_pkg.vhd
	cd $(SSNAIL_DIR) && cargo run -q -p ssnail-hw --example gen-tables -- --vhdl > target/tables.vhd && mv target/tables.vhd hdl/pkg/ssnail_tables_pkg.vhd
check-gen:
	cd $(SSNAIL_DIR) && cargo run -q -p ssnail-isa -- reference --check ssnail-isa/REFERENCE.md
	cd $(SSNAIL_DIR) && cargo run -q -p ssnail-hw --example gen-tables -- --check ssnail-hw/src/tables/data.rs
	cd $(SSNAIL_DIR) && cargo run -q -p ssnail-isa -- vhdl --check hdl/pkg/ssnail_isa_pkg.vhd
	cd $(SSNAIL_DIR) && cargo run -q -p ssnail-hw --example gen-tables -- --vhdl --check hdl/pkg/ssnail_tables_pkg.vhd

# A million cases of each operation against exact arithmetic, and every F32 to F16; half an hour
.PHONY: campaign
campaign:
	cd $(SSNAIL_DIR) && SSNAIL_HW_CASES=1000000 cargo test --release -p ssnail-hw --test exact -- --include-ignored

.PHONY: bench
bench:
	cd $(SSNAIL_DIR) && cargo bench --workspace

# The VHDL. Models are kept in target/hdl until RTL or flags change.
TESTBENCH := cd $(SSNAIL_DIR) && cargo run -q --release -p ssnail-testbench --bin testbench --
PROGRAMS ?= 2000

.PHONY: hdl-tools hdl-rules
hdl-tools:
	$(SSNAIL_DIR)testbench/install-tools.sh
hdl-rules:
	cd $(SSNAIL_DIR) && cargo run -q -p ssnail-testbench --bin testbench -- rules

.PHONY: cosim cosim-long
cosim: hdl-tools hdl-rules
	cd $(SSNAIL_DIR) && SSNAIL_PROGRAMS=$(PROGRAMS) cargo test --release -p ssnail-testbench -- --nocapture
cosim-long: hdl-tools hdl-rules
	cd $(SSNAIL_DIR) && SSNAIL_UNIT_CASES=long SSNAIL_PROGRAMS=40000 cargo test --release -p ssnail-testbench -- --nocapture --include-ignored

.PHONY: cycles area mutations
cycles:
	$(TESTBENCH) cycles
area:
	$(TESTBENCH) area
mutations:
	$(TESTBENCH) mutations
