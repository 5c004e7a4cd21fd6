#!/usr/bin/env bash
# Installs the Debian packages that laptime needs. Does nothing if all are installed; without root it prints the command to
# run and exits with 2.
#   tools/install_packages.sh           to build
#   tools/install_packages.sh --tests   to run every test as well
set -euo pipefail

packages=(
  g++ cmake ninja-build git ca-certificates python3
  libfmt-dev nlohmann-json3-dev libtomlplusplus-dev libsqlite3-dev
)
case "${1-}" in
  "") ;;
  --tests)
    packages+=(
      libgtest-dev libgmock-dev libbenchmark-dev clang-format clang-tidy python3-venv
      zsh fish groff chromium      # completion in each shell, the manual page, the HTML page
      slurm-wlm munge openmpi-bin  # launchers of points, and steps over several ranks
      libpmix-dev                  # libpmix.so, which Slurm's plugin for Open MPI loads
    )
    ;;
  *) echo "install_packages.sh: unknown option '$1'; the only one is --tests" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "This system has no dpkg. Install the software in these Debian packages, then run: cmake --preset release && cmake --build --preset release" >&2
  echo "  ${packages[*]}" >&2
  exit 2
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if [[ $(id -u) -ne 0 ]]; then
  echo "Some packages are missing. Run this line, then try again:" >&2
  echo "  sudo apt-get update && sudo apt-get install --yes --no-install-recommends ${missing[*]}" >&2
  exit 2
fi

echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
lock_wait='DPkg::Lock::Timeout=300'
apt-get update --quiet=2 --option "$lock_wait"
apt-get install --option "$lock_wait" --yes --quiet=2 --no-install-recommends "${missing[@]}" </dev/null >/dev/null
