#!/usr/bin/env bash
# Installs the Debian packages named on the command line that are not installed yet.
# Removes nothing (a package that conflicts with an installed one is left out with a word) and starts
# no service: a daemon that mounts filesystems by itself is the last thing a comparison needs.
set -euo pipefail

missing=()
for package in "$@"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install as root: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi

# invoke-rc.d asks this file before it starts anything (policy-rc.d(8)); an existing one is respected.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi

install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --quiet --no-install-recommends --no-remove "$@"
}

# Nor does one start with the machine: the tests run servers of their own.
disable_servers() {
  case " ${missing[*]} " in
    *" openssh-server "*) "${as_root[@]}" systemctl disable ssh.service ssh.socket >/dev/null 2>&1 || true ;;
  esac
  case " ${missing[*]} " in
    *" slurm-wlm "* | *" munge "*)
      "${as_root[@]}" systemctl disable munge.service slurmctld.service slurmd.service >/dev/null 2>&1 || true ;;
  esac
}

echo "installing: ${missing[*]}"
"${as_root[@]}" apt-get update --quiet
if install "${missing[@]}"; then
  disable_servers
  exit 0
fi
# One that cannot be had must not keep the others away; `fsarena doctor` says what is still missing.
failed=()
for package in "${missing[@]}"; do
  install "$package" || failed+=("$package")
done
disable_servers
[ ${#failed[@]} -eq 0 ] || echo "not installed: ${failed[*]}" >&2
