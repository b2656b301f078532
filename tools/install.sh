#!/bin/bash
# tools/install.sh -- installs the Debian packages that a make target needs and that are missing: install.sh build|demo|bench|check|interop|oracle.
set -euo pipefail

packages=(g++ cmake ninja-build llvm-19-dev libucx-dev libtomlplusplus-dev doctest-dev python3 spin)
case "${1:?usage: tools/install.sh build|demo|bench|check|interop|oracle}" in
  build) ;;
  demo) packages=(bible-kjv) ;;
  bench) packages+=(libgloo-dev libtorch-dev libdnnl-dev python3-torch libopenblas0-pthread) ;;
  interop) packages=(python3-torch) ;;
  oracle) packages=(python3-torch python3-numpy) ;;
  check) packages+=(clang-14 libclang-rt-14-dev clang-format-14) ;;
  *) echo "install.sh: unknown set of packages: $1; build, demo, bench, check, interop or oracle is needed" >&2; exit 2 ;;
esac

installed=$(dpkg-query -W -f='${db:Status-Status} ${binary:Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qE "^installed ${package//+/\\+}(:.*)?\$" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then exit 0; fi

root=()
if ((EUID != 0)); then root=(sudo); fi
echo "installing: ${missing[*]}"
"${root[@]}" apt-get update -q
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
