# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# make under test: 70 pattern rules, text functions over long lists, a sub-make.
inputs := $(sort $(wildcard src/*.in))
outputs := $(patsubst src/%.in,out/%.o,$(inputs))
numbers := $(foreach a,0 1 2 3 4 5 6 7 8 9,$(foreach b,0 1 2 3 4 5 6 7 8 9,$(foreach c,0 1 2 3 4 5 6 7 8 9,$(a)$(b)$(c))))
twice = $(1)-$(1)

all: all.out
all.out: $(outputs) sub.out
	cat $(outputs) sub.out > $@
out/%.o: src/%.in | out
	sort $< | cksum > $@
out:
	mkdir -p $@
sub.out:
	$(MAKE) -s --no-print-directory -f $(firstword $(MAKEFILE_LIST)) inner > $@
inner:
	@echo $(words $(numbers)) $(lastword $(sort $(numbers)))
print:
	@echo $(words $(foreach n,$(numbers),$(call twice,$(n)))) $(word 500,$(foreach n,$(numbers),$(call twice,$(n))))
	@echo $(subst 9,nine,$(filter %99,$(numbers))) $(words $(filter-out %7 %3,$(numbers)))
.PHONY: all inner print
