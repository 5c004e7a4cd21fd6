#!/usr/bin/env bash
# Compiles every header of src/ and tests/ alone. Usage: check_headers.sh, from the root of the repository.
set -uo pipefail

compile_alone() {
  g++ -std=c++20 -fsyntax-only -Wall -Wextra -Isrc -Itests -DLAPTIME_ISA=plain -x c++ -include "$1" /dev/null ||
    { echo "$1 does not compile alone"; return 1; }
}
export -f compile_alone
find src tests -name '*.h' -print0 | LC_ALL=C sort -z | xargs -0 -P "$(nproc)" -I{} bash -c 'compile_alone {}'
