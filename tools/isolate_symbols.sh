#!/usr/bin/env bash
# Compiler launcher: runs the compiler, then renames every weak symbol that the object defines to NAME.ISA, so that
# code for one instruction set is never chosen by the linker as the shared copy of an inline function.
# Usage: isolate_symbols.sh ISA COMPILER ARGUMENTS...
set -euo pipefail

isa=$1
shift
"$@"

object=
previous=
for argument in "$@"; do
  [[ $previous == -o ]] && object=$argument
  previous=$argument
done
[[ $object == *.o && -f $object ]] || exit 0

names=$(mktemp)
trap 'rm -f "$names"' EXIT
nm --defined-only "$object" | awk -v isa="$isa" '$2 ~ /^[WVu]$/ {print $3, $3 "." isa}' >"$names"
if [[ -s $names ]]; then objcopy --redefine-syms="$names" "$object"; fi
