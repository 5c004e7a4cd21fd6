#!/usr/bin/env bash
# Makes build/venv, a Python environment with the packages that tests need (tests/requirements.txt). Does nothing if it is up
# to date.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=build/venv
wanted=tests/requirements.txt
if [[ -x $venv/bin/python3 ]] && cmp -s "$wanted" "$venv/installed.txt"; then exit 0; fi
mkdir -p build
python3 -m venv --clear "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted"
cp "$wanted" "$venv/installed.txt"
