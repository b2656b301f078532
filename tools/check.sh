#!/bin/bash
# tools/check.sh -- everything a review wants: rules, headers that compile alone, clang 14, a fuzzer, sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}

step() { printf '\n== %s\n' "$*"; }

build() { # build <preset> <target>...
  local preset=$1
  shift
  cmake --preset "$preset" >"build/$preset.log" 2>&1 || { cat "build/$preset.log"; exit 1; }
  cmake --build "build/$preset" --parallel "$jobs" ${1:+--target "$@"}
}

mkdir -p build

step "the yard's rules"
python3 tools/check.py

step "every header compiles alone"
compile_header() { # compile_header <path>: with the instruction sets that its name promises
  local flags=()
  case $1 in
    *_avx2.h) flags=(-mavx2 -mfma -mf16c) ;;
    *_avx512.h) flags=(-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512bf16) ;;
    *_amx.h) flags=(-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512bf16 -mamx-tile -mamx-bf16) ;;
  esac
  echo "#include \"${1#src/}\"" | clang++-14 -std=c++20 -fsyntax-only -x c++ -Wall -Wextra -Wpedantic -Werror -Isrc "${flags[@]}" -
}
export -f compile_header
find src/resilin -name '*.h' -not -path '*/codegen/llvm/*' -print0 | xargs -0 -r -n 1 -P "$jobs" bash -c 'compile_header "$0"'

step "clang 14 builds everything"
build clang14

step "libFuzzer on what reads bytes of strangers"
build clang14 wire_fuzz
mkdir -p build/corpus/wire
# Two minutes of one processor; that fewer runs were done in the time is a failure.
timeout 1800 build/clang14/bin/wire_fuzz -runs="${RESILIN_FUZZ_RUNS:-1000000}" -max_len=2000 -rss_limit_mb=1000 -print_final_stats=1 \
  -artifact_prefix=build/corpus/ build/corpus/wire

# One sample in sixteen: generated code is not instrumented, the engine around it is.
export RESILIN_SWEEP_SUBSET=${RESILIN_SWEEP_SUBSET:-16} RESILIN_SWEEP_SEED=${RESILIN_SWEEP_SEED:-1}
# And one simulated schedule of the membership protocol in ten.
export RESILIN_DIST_SCHEDULES=${RESILIN_DIST_SCHEDULES:-2000}

step "AddressSanitizer and UndefinedBehaviorSanitizer"
build asan
ctest --preset asan --parallel "$jobs"

step "ThreadSanitizer on the floors with threads"
threaded='^(base_test|runtime_test|autograd_test|dist_test|training_test)$'
cmake --preset tsan >build/tsan.log 2>&1 || { cat build/tsan.log; exit 1; }
mapfile -t programs < <(ctest --test-dir build/tsan -N -R "$threaded" | sed -n 's/^ *Test *#[0-9]*: //p')
build tsan "${programs[@]}"
# Tests fork; the sanitizer would end a child that starts threads.
TSAN_OPTIONS=die_after_fork=0 ctest --preset tsan -R "$threaded"
