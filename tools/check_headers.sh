#!/usr/bin/env bash
# Compiles every header of src/ and tests/ on its own. Usage, from the root of the repository: check_headers.sh BUILD_DIR,
# where BUILD_DIR is a configured build folder with generated/.
set -uo pipefail

flags=(-std=c++20 -fsyntax-only -Wall -Wextra -Isrc -Itests "-I$1/generated" -DLAPTIME_ISA=plain
  '-DLAPTIME_GOLDEN_DIR=""' '-DLAPTIME_SOURCE_DIR=""')
compile_alone() {
  local header=$1
  shift
  g++ "$@" -x c++ -include "$header" /dev/null || { echo "$header does not compile alone"; return 1; }
}
export -f compile_alone
find src tests -name '*.h' -print0 | LC_ALL=C sort -z |
  xargs -0 -P "$(nproc)" -I{} bash -c 'compile_alone "$@"' compile_alone {} "${flags[@]}"
