# Virga. `make demo` and `make test` are all that a newcomer types; each installs what it needs.
.PHONY: help deps build release install package try-package serve demo test check tsan fuzz bench bench-counts lint docs clean
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
	@echo "make check   find in two minutes what a change usually breaks: format, module order, and quick tests"
	@echo "make tsan    run the client's tests under the thread sanitizer"
	@echo "make fuzz    send damaged requests for SECONDS=600, and print how to repeat what is found"
	@echo "make serve   run the server on http://127.0.0.1:8787 with its data in ./virga-data"
	@echo "make bench   measure, and compare counts with Benchmarks/thresholds.json; DISK_MS=2 slows each disk sync by 2 ms"
	@echo "make bench-counts  compare only the counts, which do not depend on the machine"
	@echo "make install PREFIX=/usr/local    install the programs, their completions and manual pages; DESTDIR=… too"
	@echo "make package make a Debian package and a container file in .build/package; make try-package tries both (root)"
	@echo "make deps    install the C libraries that Virga needs, from Debian"
	@echo "make lint    check the format of all Swift sources"
	@echo "make docs    build the documentation into .build/docs"
	@echo "make clean   remove what was built"

deps:
	@scripts/deps

build: deps
	$(REPLAN)
	$(SWIFT) build
	$(REPLAN)
	$(SWIFT) build $(EXAMPLES)
	$(REPLAN)

release: deps
	$(REPLAN)
	$(SWIFT) build -c release $(EXAMPLES) --product virga
	$(SWIFT) build -c release $(EXAMPLES) --product lanternly
	$(SWIFT) build -c release $(EXAMPLES) --product sample-export
	$(REPLAN)

PREFIX ?= /usr/local
install: release
	scripts/install-programs .build/release $(PREFIX) $(DESTDIR)

package: release
	scripts/package .build/release .build/package

try-package:
	scripts/try-package .build/package

serve: deps
	$(REPLAN)
	$(SWIFT) build -c release --product virga
	.build/release/virga serve

demo: release
	scripts/demo

test: deps
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

# What needs no server, no disk and no clock, and what reads the sources.
CHECKED = ModelTests,AuthTests,SQLiteTests,WireTests,SchemaTests,MergeTests,PredicateTests,SyncTests,ServerTests,CommandLineTests,TidyTests
check: deps lint
	$(REPLAN)
	VIRGA_ONLY=$(CHECKED) $(SWIFT) build --build-tests
	VIRGA_ONLY=$(CHECKED) scripts/run-tests --skip-build
	$(REPLAN)

tsan: deps
	scripts/tsan

SECONDS ?= 600
fuzz: deps
	$(REPLAN)
	VIRGA_ONLY=HTTPTests VIRGA_FUZZ_SECONDS=$(SECONDS) $(SWIFT) test --disable-xctest --filter 'GatewayFuzzTests|ParserFuzzTests'

# DISK_MS=2: as if the disk took 2 ms more to make bytes durable.
ifdef DISK_MS
SLOW_DISK = LD_PRELOAD=$(CURDIR)/.build/slow_disk.so VIRGA_BENCH_DISK_MS=$(DISK_MS)
.build/slow_disk.so: Benchmarks/SlowDisk/slow_disk.c
	@mkdir -p .build
	clang -O2 -shared -fPIC -o $@ $< -ldl
bench: .build/slow_disk.so
endif

bench: deps
	$(REPLAN)
	$(SWIFT) build -c release --product virga
	$(SWIFT) build -c release --product bench
	$(SWIFT) build -c release --product bench-client
	$(SLOW_DISK) .build/release/bench
	.build/release/bench-client
	scripts/bench-peers

bench-counts: deps
	$(REPLAN)
	$(SWIFT) build -c release --product bench
	.build/release/bench --counts

lint:
	$(SWIFT) format lint --strict --parallel --recursive Package.swift Sources Tests Examples/Package.swift Examples/Sources Examples/Tests Companions Benchmarks

docs: deps
	$(REPLAN)
	scripts/docs

clean:
	rm -rf .build .build-* Examples/.build
