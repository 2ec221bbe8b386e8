# Virga. `make demo` and `make test` are all that a newcomer types; each installs what it needs.
.PHONY: help install build release serve demo test tsan fuzz bench lint docs clean
SWIFT ?= swift
# The examples are a package of their own that is built into the same folder, so that nothing is compiled twice.
# SwiftPM keeps the plan of the package it built last and would take it for the other's: it is dropped in between.
EXAMPLES = --package-path Examples --scratch-path .build
# The companion modules have a folder of their own: in one folder with the others their modules would be visible to all.
COMPANIONS = --package-path Companions --scratch-path .build-companions
REPLAN = @rm -f .build/debug.yaml .build/release.yaml

help:
	@echo "make demo    three devices, one diary, a real server: build, run, and print what each device sees"
	@echo "make test    build and run all tests"
	@echo "make tsan    run the client's tests under the thread sanitizer"
	@echo "make fuzz    send damaged requests for SECONDS=600, and print how to repeat what is found"
	@echo "make serve   run the server on http://127.0.0.1:8787 with its data in ./virga-data"
	@echo "make bench   measure, and compare counts with Benchmarks/thresholds.json; DISK_MS=2 adds that to each sync"
	@echo "make lint    check the format of all Swift sources"
	@echo "make docs    build the documentation into .build/docs"
	@echo "make clean   remove what was built"

install:
	@scripts/install

build: install
	$(REPLAN)
	$(SWIFT) build
	$(REPLAN)
	$(SWIFT) build $(EXAMPLES)
	$(REPLAN)

release: install
	$(REPLAN)
	$(SWIFT) build -c release $(EXAMPLES) --product virga
	$(SWIFT) build -c release $(EXAMPLES) --product lanternly
	$(SWIFT) build -c release $(EXAMPLES) --product sample-export
	$(REPLAN)

serve: install
	$(REPLAN)
	$(SWIFT) build -c release --product virga
	.build/release/virga serve

demo: release
	scripts/demo

test: install
	$(REPLAN)
	$(SWIFT) build --build-tests
	scripts/run-tests --skip-build
	scripts/conformance
	$(REPLAN)
	$(SWIFT) build --build-tests $(EXAMPLES)
	scripts/run-tests --skip-build $(EXAMPLES)
	$(REPLAN)
	$(SWIFT) build --build-tests $(COMPANIONS)
	scripts/run-tests --skip-build $(COMPANIONS)

tsan: install
	scripts/tsan

SECONDS ?= 600
fuzz: install
	$(REPLAN)
	VIRGA_ONLY=HTTPTests VIRGA_FUZZ_SECONDS=$(SECONDS) $(SWIFT) test --disable-xctest --filter 'FrontFuzzTests|ParserFuzzTests'

# DISK_MS=2: as if the disk took 2 ms more to make bytes durable.
ifdef DISK_MS
SLOW_DISK = LD_PRELOAD=$(CURDIR)/.build/slow_disk.so VIRGA_BENCH_DISK_MS=$(DISK_MS)
.build/slow_disk.so: Benchmarks/SlowDisk/slow_disk.c
	@mkdir -p .build
	clang -O2 -shared -fPIC -o $@ $< -ldl
bench: .build/slow_disk.so
endif

bench: install
	$(REPLAN)
	$(SWIFT) build -c release --product virga
	$(SWIFT) build -c release --product bench
	$(SWIFT) build -c release --product bench-client
	$(SLOW_DISK) .build/release/bench
	.build/release/bench-client

lint:
	$(SWIFT) format lint --strict --parallel --recursive Package.swift Sources Tests Examples/Package.swift Examples/Sources Examples/Tests Companions Benchmarks

docs: install
	$(REPLAN)
	scripts/docs

clean:
	rm -rf .build .build-* Examples/.build
