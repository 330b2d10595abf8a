#!/bin/sh
# Installs what cmake/packages.txt lists and is not installed yet. Asks apt only when something is missing.
set -eu

list=$(dirname "$0")/packages.txt
command -v dpkg-query >/dev/null || {
  echo "install-packages: needs a Debian system; install what $list names by other means" >&2
  exit 1
}

missing=
for package in $(sed 's/#.*//' "$list"); do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
[ "$(id -u)" -eq 0 ] || as_root=sudo
echo "install-packages: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # the list is split into words on purpose
apt_install() {
  $as_root apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends $missing
}
apt_install 2>/dev/null || {
  $as_root apt-get -o DPkg::Lock::Timeout=600 update
  apt_install
}
