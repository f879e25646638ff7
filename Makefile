# Needs python3 (with venv), a C++20 compiler and make; everything else comes into $(VENV).
# Other versions: make test PYTHON=python3.12 VENV=.venv-3.12

PYTHON ?= python3
VENV ?= .venv
BENCH_VENV ?= .venv-bench
TORCH_VENV ?= .venv-torch
TORCH_GROUP ?= torch
TRITON_VENV ?= .venv-triton
ASAN_VENV ?= .venv-asan
JOBS ?= 2
# Tests wait as much as they compute: for programs, sockets and clocks.
TEST_JOBS ?= 3
FUZZ_SECONDS ?= 60
ROUNDS ?= 10
CUPTI_VERSIONS ?= nvidia-cuda-cupti-cu12==12.0.90 nvidia-cuda-cupti-cu12==12.3.101 nvidia-cuda-cupti-cu12==12.4.127 \
  nvidia-cuda-cupti-cu12==12.5.82 nvidia-cuda-cupti-cu12==12.6.80 nvidia-cuda-cupti-cu12==12.8.90 \
  nvidia-cuda-cupti-cu12==12.9.79 nvidia-cuda-cupti==13.0.85 nvidia-cuda-cupti==13.1.115
PYTEST_ARGS ?=
BUILD_ARGS ?=
# A build folder, of any Python, whose libraries are taken instead of being built again; it must be up to date.
BUILT ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
SOURCES := pyproject.toml CMakeLists.txt $(shell find native src/kinetograph -type f -not -name '*.pyc')
CPP := $(shell find native src tests/native tests/unit benchmarks/floor -name '*.cpp' -o -name '*.h' -o -name '*.c' -o -name '*.cuh' -o -name '*.cu')
INSTALLED := $(VENV)/.installed
STUB := src/kinetograph/_native.pyi
# To look for leaks takes gcc 12's library 4 s at the end of each process on ARM, even of an empty one.
LEAKS ?= $(if $(filter x86_64,$(shell uname -m)),1,0)
CTEST_ARGS ?=
# One that hangs fails.
CTEST := ctest --output-on-failure --timeout 300 -j $(JOBS) $(CTEST_ARGS)
SANITIZERS := ASAN_OPTIONS=detect_leaks=$(LEAKS) UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1:die_after_fork=0

export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export PATH := $(abspath $(BIN)):$(PATH)

.PHONY: help build demo test pytest torch-test triton-test native-test asan asan-python tsan fuzz properties cupti-versions gpu-test bench bench-smoke run-bench gpu-bench check stubs reference format clean
.DELETE_ON_ERROR:

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

build: $(INSTALLED) ## create the environment, build and install

demo: $(INSTALLED) ## profile a small program and show its summary
	$(BIN)/kinetograph demo -o demo-trace.json.gz

# What the native tests have built serves the first install; one that is there has a build folder of its own.
test: native-test ## all tests
	$(MAKE) pytest $(if $(BUILT)$(wildcard $(INSTALLED)),,BUILT=build/native)

pytest: $(INSTALLED) $(VENV)/.group-test ## the Python tests alone; PYTEST_ARGS are passed on
	$(BIN)/python -m pytest -n $(TEST_JOBS) $(PYTEST_ARGS)

torch-test: ## our names and numbers against PyTorch's own (installs TORCH_GROUP into TORCH_VENV)
	$(MAKE) VENV=$(TORCH_VENV) $(TORCH_VENV)/.group-$(TORCH_GROUP)
	$(MAKE) VENV=$(TORCH_VENV) pytest PYTEST_ARGS="tests/unit/test_torch_names.py tests/unit/test_torch_averages.py \
	  tests/unit/test_torch_profile.py tests/unit/frameworks tests/test_docs.py"

triton-test: ## records inside kernels (installs Triton, torch, Numba and NVIDIA's compilers into TRITON_VENV)
	$(MAKE) VENV=$(TRITON_VENV) $(TRITON_VENV)/.group-kernels $(TRITON_VENV)/.group-torch
	$(MAKE) VENV=$(TRITON_VENV) pytest PYTEST_ARGS="tests/unit/intra_kernel tests/test_docs.py"

native-test: $(VENV)/.group-build ## the native tests alone
	$(call build_native,native)
	$(CTEST) --test-dir build/native

asan: $(VENV)/.group-build ## the native tests under AddressSanitizer and UBSan
	$(call build_native,asan,-DKINETOGRAPH_SANITIZE=address$(comma)undefined)
	$(SANITIZERS) $(CTEST) --test-dir build/asan

asan-python: ## the threading tests of Python on an extension built with AddressSanitizer and UBSan
	$(MAKE) VENV=$(ASAN_VENV) BUILD_ARGS=-Ccmake.define.KINETOGRAPH_SANITIZE=address,undefined build
	$(MAKE) VENV=$(ASAN_VENV) $(ASAN_VENV)/.group-test
	LD_PRELOAD="$(call sanitizer,asan) $(call sanitizer,ubsan)" ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=32 \
	  $(ASAN_VENV)/bin/python -m pytest -n $(JOBS) -m "not slow" tests/integration/test_hard_cases_threads.py

tsan: $(VENV)/.group-build ## the native tests under ThreadSanitizer
	$(call build_native,tsan,-DKINETOGRAPH_SANITIZE=thread)
	$(SANITIZERS) $(CTEST) --test-dir build/tsan

fuzz: $(VENV)/.group-build ## the fuzzers, FUZZ_SECONDS each, under AddressSanitizer and UBSan
	$(call build_native,asan,-DKINETOGRAPH_SANITIZE=address$(comma)undefined)
	find build/asan/tests/native -name 'fuzz_*' -type f -executable -print0 | \
	  $(SANITIZERS) xargs -0 -n 1 -P $(JOBS) sh -c '"$$0" $(FUZZ_SECONDS)'

properties: $(INSTALLED) $(VENV)/.group-test ## the property tests, ROUNDS times, with examples that were not tried before
	for round in $$(seq $(ROUNDS)); do $(BIN)/python -m pytest -q -m hypothesis -n $(JOBS) $(PYTEST_ARGS) \
	  $$(grep -rl "from hypothesis" tests/unit tests/integration --include='test_*.py') || exit; done

cupti-versions: $(VENV)/.group-build ## lengths of records and names of metrics, against libraries of NVIDIA's (downloads 100 MB into build)
	$(call build_native,native)
	set -e; for version in $(CUPTI_VERSIONS); do \
	  folder=build/cupti/$$version; \
	  [ -d $$folder ] || $(PIP) install -q --no-deps --target $$folder $$version || { echo "$$version: not to be had here"; continue; }; \
	  export KINETOGRAPH_LIBCUPTI=$$(ls $$PWD/$$folder/nvidia/*/lib/libcupti.so*); \
	  for test in cupti_walker_test cupti_metric_host_test; do build/native/tests/native/$$test >/dev/null; done; \
	  echo "$$version: agrees"; checked=yes; done; [ -n "$$checked" ]

gpu-test: $(INSTALLED) $(VENV)/.group-test ## what needs an NVIDIA GPU, and PyTorch for it in VENV
	$(BIN)/python -m pytest tests/gpu $(PYTEST_ARGS)

gpu-bench: $(INSTALLED) ## what recording CUDA costs, on a GPU, with PyTorch in VENV
	$(BIN)/python -m benchmarks.gpu $(BENCH_ARGS)

bench: ## what it costs, beside floors and peers (installs torch into BENCH_VENV)
	$(MAKE) VENV=$(BENCH_VENV) run-bench

bench-smoke: $(INSTALLED) ## that the benchmarks run, without the peers and a GPU
	$(BIN)/python -m benchmarks --quick
	$(BIN)/python -m benchmarks.gpu gpu-hosts

run-bench: $(INSTALLED) $(VENV)/.group-bench
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

check: $(INSTALLED) $(VENV)/.group-check $(VENV)/.group-test ## lint, format, types, fresh stubs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(CPP)
	$(call write_stub,build/_native.pyi)
	diff -u $(STUB) build/_native.pyi || { echo "stale: run 'make stubs'"; exit 1; }

stubs: $(INSTALLED) $(VENV)/.group-check ## write the stub file of the native module
	$(call write_stub,$(STUB))

reference: $(INSTALLED) ## write docs/reference from docstrings and --help
	$(BIN)/python docs/reference/generate.py

format: $(VENV)/.group-check ## format Python and C++
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CPP)

clean: ## remove everything that was built
	rm -rf build dist $(VENV) $(BENCH_VENV) $(TORCH_VENV) $(ASAN_VENV) benchmarks/out demo-trace*

# A persistent build folder per environment makes a rebuild incremental.
$(INSTALLED): $(SOURCES) $(if $(BUILT),$(wildcard $(BUILT)/native/libkinetograph*)) $(VENV)/.group-build
	@echo "building kinetograph into $(VENV): two to four minutes the first time"
	$(PIP) install -q --no-build-isolation -C build-dir=build/$(notdir $(VENV)) \
	  -C cmake.define.KINETOGRAPH_BUILT=$(abspath $(BUILT)) $(BUILD_ARGS) .
	@touch $@

$(VENV)/.group-%: pyproject.toml | $(VENV)/.pip
	$(PIP) install -q --group $*
	@touch $@

# Dependency groups need pip 25.1, which is newer than what venv brings.
$(VENV)/.pip:
	@$(PYTHON) -c 'import sys; sys.exit("kinetograph needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] \
	  + "\nhint: make demo PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "making $(VENV), with what the build needs from PyPI"
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install -q --upgrade 'pip>=25.1'
	@touch $@

comma := ,
sanitizer = $(shell $(CXX) -print-file-name=lib$(1).so)
define build_native
cmake -G Ninja -S . -B build/$(1) -DKINETOGRAPH_TESTS=ON -DKINETOGRAPH_PYTHON=OFF $(2)
cmake --build build/$(1)
endef

define write_stub
$(BIN)/python -m nanobind.stubgen -q -p native/bind/stub_patterns.txt -m kinetograph._native -o $(1)
$(BIN)/ruff format -q $(1)
endef
