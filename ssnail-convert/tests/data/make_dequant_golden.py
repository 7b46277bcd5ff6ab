#!/usr/bin/env python3
"""Makes dequant.golden: one block of each ggml type and case, and the hash of what gguf-py makes of it.

    pip install gguf && python make_dequant_golden.py > dequant.golden
    python make_dequant_golden.py Q4_K inf      # the block and its values

gguf-py's dequantisers are numpy code, independent of ggml's C and of ours.
"""

import random
import struct
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

HEAD = """\
# Made by make_dequant_golden.py.
#
# fill NAME HEX         a pattern, repeated to the length of a block
# block TYPE CASE FILL PATCHES HASH
#     One block (eight elements of the types without blocks): the fill, then OFFSET=HEX,... written over it ("-": nothing).
#     HASH: FNV-1a (64 bits) of the weights as little-endian binary32, each NaN taken as 7fc00000.
# grid TYPE HASH        FNV-1a of the type's codebook, a byte an element
"""

# Offsets of the binary16 fields d, and m or dmin.
SCALES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    "IQ1_S": [0], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0],
    "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64],
}

# case: fill, d, m
SCALE_CASES = {
    "sane": ("a", 0x2C33, 0x28AB),
    "negative": ("b", 0xA7F1, 0x1D02),
    "saturated": ("ff", 0x2C33, 0x9D02),
    "minus-zero": ("a", 0x8000, 0x8000),
    "subnormal": ("b", 0x0001, 0x83FF),
    "largest": ("a", 0x7BFF, 0xFBFF),
    "inf": ("b", 0x7C00, 0xFC00),
    "nan": ("a", 0x7D00, 0x2C33),
}

FLOATS = {
    "F32": [0x00000000, 0x80000000, 0x00000001, 0x3F9E0652, 0xC2F6E979, 0x7F7FFFFF, 0xFF800000, 0x7FA00000],
    "F16": [0x0000, 0x8000, 0x0001, 0x83FF, 0x3C01, 0xFBFF, 0x7C00, 0x7D00],
    "BF16": [0x0000, 0x8000, 0x0001, 0x807F, 0x3F81, 0xFF7F, 0x7F80, 0x7FA0],
    # Ties to even both ways, the last that does not overflow and the first that does, subnormals, a signalling NaN.
    "F64": [0x3FF0000010000000, 0xBFF0000030000000, 0x47EFFFFFEFFFFFFF, 0x47EFFFFFF0000000,
            0x36A0000000000000, 0xB690000000000001, 0x8000000000000000, 0x7FF4000000000000],
}

GRIDS = ["IQ1_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"]


def fills():
    rng = random.Random(1)
    return {"00": b"\0", "ff": b"\xff", "a": rng.randbytes(210), "b": rng.randbytes(210)}


def cases():
    """Yields (type, case, fill name, [(offset, bytes)])."""
    for name, values in FLOATS.items():
        size = GGML_QUANT_SIZES[GGMLQuantizationType[name]][1]
        yield name, "values", "00", [(0, b"".join(v.to_bytes(size, "little") for v in values))]
    for name in [*SCALES, "IQ1_M", "MXFP4"]:
        yield name, "zeros", "00", []
        yield name, "ones", "ff", []
        yield name, "random", "a", []
        yield name, "random2", "b", []
        if name == "MXFP4":
            for e in [1, 2, 120, 253]:
                yield name, f"2^{e - 128}", "a", [(0, bytes([e]))]
            continue
        for case, (fill, *scales) in SCALE_CASES.items():
            if name == "IQ1_M":  # the scale's nibbles are the upper ones of bytes 49, 51, 53, 55
                pattern = fills()[fill]
                nibbles = [(scales[0] >> 4 * k & 15) << 4 | pattern[(49 + 2 * k) % len(pattern)] & 15 for k in range(4)]
                yield name, case, fill, [(49 + 2 * k, bytes([nibbles[k]])) for k in range(4)]
            else:
                yield name, case, fill, [(at, struct.pack("<H", s)) for at, s in zip(SCALES[name], scales)]


def block(name, fill, patches):
    length, size = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    size *= 8 if length == 1 else 1
    data = bytearray((fill * size)[:size])
    for at, patch in patches:
        data[at:at + len(patch)] = patch
    assert len(data) == size
    return bytes(data)


def dequantize(name, data):
    with np.errstate(all="ignore"):
        if name == "F64":
            values = np.frombuffer(data, "<f8").astype("<f4")
        else:
            values = quants.dequantize(np.frombuffer(data, np.uint8), GGMLQuantizationType[name]).astype("<f4")
    bits = values.view("<u4").copy()
    bits[np.isnan(values)] = 0x7FC00000
    return bits


def fnv1a(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return f"{h:016x}"


def main():
    patterns = fills()
    if len(sys.argv) == 3:
        for name, case, fill, patches in cases():
            if [name, case] == sys.argv[1:]:
                data = block(name, patterns[fill], patches)
                print(data.hex())
                for i, bits in enumerate(dequantize(name, data)):
                    print(i, f"{bits:08x}", bits.view("<f4"))
        return
    print(HEAD)
    for name, pattern in patterns.items():
        print("fill", name, pattern.hex())
    for name, case, fill, patches in cases():
        patched = ",".join(f"{at}={patch.hex()}" for at, patch in patches) or "-"
        print("block", name, case, fill, patched, fnv1a(dequantize(name, block(name, patterns[fill], patches)).tobytes()))
    for name in GRIDS:
        kind = getattr(quants, name)
        kind.init_grid()
        print("grid", name, fnv1a(kind.grid.astype(np.int8).tobytes()))


if __name__ == "__main__":
    main()
