# Rules that make images from models: foo.gguf -> foo.ssnail. Included by the Makefile; usable from any folder:
#
#     make -f /path/to/ssnail/models.mk foo.ssnail
#
# Variables, with their defaults:
ATTICRAM       ?= 8
# Memory in MB for foo.ssnail and foo.run: 8, 64 or 72 for the boards.
CONTEXT_WINDOW ?=
# Context in tokens; empty: the model's, at most 256 (encoders 128).
WTYPE          ?= auto
# How weights are stored: auto keep mixed f32 f16 bf16 q8_0 q4_0.
FALLBACK       ?= q8_0
# What formats that the hardware lacks become.
KV             ?= f16
# Format of the KV cache: f16 f32.
TYPE           ?= General
# What kind of model it is, for the description.
PROMPT         ?= Once upon a time
# Text for foo.run.
TOKENS         ?= 128
# How many tokens foo.run generates.
TEXT           ?=
# Text file for foo.tokcheck; empty: the sample that comes with the tools.

SSNAIL_DIR := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
SSNAIL_BIN := $(SSNAIL_DIR)target/release
CONVERT    := $(SSNAIL_BIN)/ssnail-convert
SIM        := $(SSNAIL_BIN)/ssnail-sim
TOK        := $(SSNAIL_BIN)/ssnail-tok

SSNAIL_SOURCES := $(wildcard $(addprefix $(SSNAIL_DIR),Cargo.toml Cargo.lock ssnail-*/Cargo.toml)) \
	$(shell find $(SSNAIL_DIR)ssnail-* -name '*.rs' -path '*/src/*')

# cargo decides what is stale; the touch tells make that it was asked.
$(CONVERT) $(SIM) $(TOK) &: $(SSNAIL_SOURCES)
	cargo build --release --manifest-path $(SSNAIL_DIR)Cargo.toml -p ssnail-convert -p ssnail-sim
	@touch $(CONVERT) $(SIM) $(TOK)

# Options that a change of must remake images. The file changes only when they do.
IMAGE_OPTIONS := --wtype $(WTYPE) --fallback $(FALLBACK) --kv $(KV) --type '$(TYPE)'$(if $(CONTEXT_WINDOW), --ctx $(CONTEXT_WINDOW))
.ssnail.args: FORCE
	@printf '%s\n' "$(IMAGE_OPTIONS) $(ATTICRAM)" | cmp -s - $@ || printf '%s\n' "$(IMAGE_OPTIONS) $(ATTICRAM)" > $@

CONVERT_TO = $(CONVERT) $< -o $@ $(IMAGE_OPTIONS) --mem-mb

%.8mb.ssnail: %.gguf $(CONVERT) .ssnail.args
	$(CONVERT_TO) 8

%.64mb.ssnail: %.gguf $(CONVERT) .ssnail.args
	$(CONVERT_TO) 64

%.72mb.ssnail: %.gguf $(CONVERT) .ssnail.args
	$(CONVERT_TO) 72

%.ssnail: %.gguf $(CONVERT) .ssnail.args
	$(CONVERT_TO) $(ATTICRAM)

# Run a model: make foo.run PROMPT='One day' TOKENS=50
%.run: %.ssnail $(SIM)
	@$(SIM) $< --prompt "$(PROMPT)" -n $(TOKENS)

# Tell what is in a model
%.info: %.gguf $(CONVERT)
	@$(CONVERT) info $<

# Compare the image's tokenizer with the model's own
%.tokcheck: %.ssnail %.gguf $(TOK)
	@$(TOK) check $< $*.gguf $(TEXT)

# Every size that the model fits
%.all: %.gguf $(CONVERT) .ssnail.args
	@made=0; for mb in 8 64 72; do \
		$(CONVERT) $< -o $*.$${mb}mb.ssnail $(IMAGE_OPTIONS) --mem-mb $$mb; s=$$?; \
		if [ $$s -eq 0 ]; then made=1; elif [ $$s -ne 1 ]; then exit $$s; fi; \
	done; [ $$made -eq 1 ]

FORCE:
.PHONY: FORCE
.PRECIOUS: %.ssnail
