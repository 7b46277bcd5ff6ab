#!/usr/bin/env bash
# The rules of models.mk, from another folder, on the model that comes with the tools.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$top/ssnail-convert/assets/snailtales.gguf" foo.gguf
printf 'One day, a snail met 3 ants.\n' > lines.txt
unset MAKEFLAGS MAKELEVEL
m() { make --no-print-directory -f "$top/models.mk" "$@"; }
fail() { echo "make.sh: $*" >&2; exit 1; }

m foo.ssnail > first
grep -q 'bytes used' first || fail "the report has no memory map"
m foo.8mb.ssnail > /dev/null
cmp foo.ssnail foo.8mb.ssnail || fail "foo.ssnail is not foo.8mb.ssnail"
touch -r foo.ssnail stamp
m foo.ssnail > /dev/null
[ ! foo.ssnail -nt stamp ] || fail "an image that is current is made again"
m foo.ssnail WTYPE=q4_0 > /dev/null
[ "$(stat -c %s foo.ssnail)" -lt "$(stat -c %s foo.8mb.ssnail)" ] || fail "WTYPE=q4_0 did not remake a smaller image"
m foo.ssnail > /dev/null
m foo.run PROMPT='Once upon a time' TOKENS=20 > story
grep -q '^Once upon a time' story || fail "foo.run wrote: $(cat story)"
m foo.info | grep -q 'can be converted' || fail "foo.info"
m foo.tokcheck > /dev/null || fail "foo.tokcheck on the sample"
m foo.tokcheck TEXT=lines.txt > /dev/null || fail "foo.tokcheck on a file"
m foo.all > /dev/null
for mb in 8 64 72; do cmp foo.ssnail foo.${mb}mb.ssnail || fail "an image of 8 MB depends on the memory it may use"; done
if m bad.ssnail 2> /dev/null; then fail "an image without a model"; fi
echo "make.sh: the rules of models.mk work"
