#!/bin/sh
# Fails when a C or C++ source differs from what .clang-format asks for; with --fix rewrites it instead.
# The formatter's version is pinned, since versions disagree. Exit 77 (skipped) where it is not installed.
set -eu
cd "$(dirname "$0")/.."

formatter=clang-format-19
command -v $formatter >/dev/null || {
  echo "check_format: $formatter is not installed; run 'make packages'" >&2
  exit 77
}
layers="support ir schedule codegen runtime cost_model search transfer graph"
folders=
for folder in $layers tools examples bench tests; do
  [ -d "$folder" ] && folders="$folders $folder"
done
mode="--dry-run -Werror --ferror-limit=1"
[ "${1-}" = --fix ] && mode=-i

# shellcheck disable=SC2086 # words on purpose
{
  find $folders \( -name '*.h' -o -name '*.c' -o -name '*.cpp' \) -print0
  if [ -f espalier.h ]; then printf 'espalier.h\0'; fi
} | xargs -0 -r -n 40 $formatter $mode || {
  echo "check_format: run 'make format'" >&2
  exit 1
}
