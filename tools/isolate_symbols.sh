#!/usr/bin/env bash
# Compiler launcher: runs the compiler, then renames every weak symbol that the object defines to NAME.ISA, so that the
# linker never chooses code for one instruction set as the shared copy of an inline function.
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

# Rejects code that runs before main, because it would run on every machine regardless of its instruction set.
if nm "$object" | grep -q ' _GLOBAL__sub_I_'; then
  echo "$object: a global variable is initialised by code for $isa, which would run before main on every machine." >&2
  echo "Make it a constant expression (no std::string or std::vector in it), or a static inside a function." >&2
  rm -f "$object"
  exit 1
fi

names=$(mktemp)
trap 'rm -f "$names"' EXIT
{
  nm --defined-only "$object" | awk '$2 ~ /^[WVu]$/ {print $3}'
  # The linker selects section groups by name, which may differ from the symbols in the group (D5 for destructors).
  readelf --section-groups --wide "$object" | sed -n 's/^COMDAT group section .* \[\(.*\)\] contains .*/\1/p'
} | sort -u | awk -v isa="$isa" '{print $1, $1 "." isa}' >"$names"
if [[ -s $names ]]; then objcopy --redefine-syms="$names" "$object"; fi
