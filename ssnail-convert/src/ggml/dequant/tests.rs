//! Against gguf-py's dequantisers: a block of each type and case, committed as `tests/data/dequant.golden`. Against ggml's
//! own: real weights in the test data's `quant_types.gguf`.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::ggml::iquant_tables as tables;
use crate::gguf::Gguf;

const GOLDEN: &str = include_str!("../../../tests/data/dequant.golden");

/// The lines of `GOLDEN` that begin with `kind`, cut into their other `N` fields.
fn golden<const N: usize>(kind: &str) -> impl Iterator<Item = [&'static str; N]> {
    GOLDEN.lines().filter_map(move |line| {
        let mut fields = line.split_whitespace();
        (fields.next() == Some(kind))
            .then(|| fields.collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("fields of {line}")))
    })
}

fn unhex(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2));
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> String {
    let step = |h: u64, byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    format!("{:016x}", bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step))
}

fn type_named(name: &str) -> GgmlType {
    *GgmlType::ALL.iter().find(|ty| ty.name() == name).unwrap_or_else(|| panic!("type {name}"))
}

/// Bit patterns, with one for all NaNs.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| if v.is_nan() { 0x7fc0_0000 } else { v.to_bits() }).collect()
}

fn dequantized(ty: GgmlType, bytes: &[u8]) -> Vec<f32> {
    let mut out = vec![0.0; bytes.len() / ty.block_bytes() as usize * ty.block_len() as usize];
    dequantize_row(ty, bytes, &mut out).unwrap();
    out
}

/// A golden block: type, case, bytes, hash of the weights.
fn golden_blocks() -> Vec<(GgmlType, &'static str, Vec<u8>, &'static str)> {
    let fills: BTreeMap<_, _> = golden("fill").map(|[name, hex]| (name, unhex(hex))).collect();
    golden("block")
        .map(|[ty, case, fill, patches, hash]| {
            let ty = type_named(ty);
            let len = ty.block_bytes() as usize * if ty.block_len() == 1 { 8 } else { 1 };
            let mut bytes: Vec<u8> = fills[fill].iter().copied().cycle().take(len).collect();
            for (at, patch) in patches.split(',').filter_map(|patch| patch.split_once('=')) {
                let (at, patch) = (at.parse::<usize>().unwrap(), unhex(patch));
                bytes[at..at + patch.len()].copy_from_slice(&patch);
            }
            (ty, case, bytes, hash)
        })
        .collect()
}

#[test]
fn blocks_equal_golden() {
    for (ty, case, bytes, hash) in golden_blocks() {
        let out = dequantized(ty, &bytes);
        let got = fnv1a(bits(&out).into_iter().flat_map(u32::to_le_bytes));
        assert_eq!(
            got, hash,
            "{ty} {case}; for what is right: make_dequant_golden.py {ty} {case}; got {out:?}"
        );
    }
}

#[test]
fn codebooks_equal_golden() {
    let mut seen = 0;
    for [ty, hash] in golden("grid") {
        let got = match type_named(ty) {
            GgmlType::IQ1_S => fnv1a(tables::IQ1.as_flattened().iter().map(|v| *v as u8)),
            GgmlType::IQ2_XXS => fnv1a(tables::IQ2_XXS.as_flattened().iter().copied()),
            GgmlType::IQ2_XS => fnv1a(tables::IQ2_XS.as_flattened().iter().copied()),
            GgmlType::IQ2_S => fnv1a(tables::IQ2_S.as_flattened().iter().copied()),
            GgmlType::IQ3_XXS => fnv1a(tables::IQ3_XXS.as_flattened().iter().copied()),
            GgmlType::IQ3_S => fnv1a(tables::IQ3_S.as_flattened().iter().copied()),
            other => panic!("{other} has no codebook"),
        };
        assert_eq!(got, hash, "{ty}");
        seen += 1;
    }
    assert_eq!(seen, 6);
}

/// Each tensor `TYPE` of the file comes with `TYPE.f32`, what ggml makes of it.
#[test]
fn real_weights_equal_ggmls() {
    let Some(path) = crate::testdata::find("models/quant_types.gguf") else { return };
    let gguf = Gguf::open(&path).unwrap();
    let mut seen = BTreeSet::new();
    for info in gguf.tensors() {
        let Some(expected) = gguf.tensor(&format!("{}.f32", info.name)) else { continue };
        let got = dequantized(info.ggml_type, gguf.tensor_data(info));
        let expected = dequantized(GgmlType::F32, gguf.tensor_data(expected));
        assert_eq!(bits(&got), bits(&expected), "{}", info.name);
        seen.insert(info.ggml_type);
    }
    assert_eq!(seen.len(), 17, "types in {}", path.display());
}

/// Each type either holds weights and is in the golden file, or is refused.
#[test]
fn every_type_is_golden_or_refused() {
    let golden: BTreeSet<_> = golden_blocks().into_iter().map(|(ty, ..)| ty).collect();
    for &ty in GgmlType::ALL {
        let bytes = vec![0; ty.block_bytes() as usize];
        let mut out = vec![1.0; ty.block_len() as usize];
        match dequantize_row(ty, &bytes, &mut out) {
            Ok(()) => assert!(golden.contains(&ty), "{ty} lacks golden data"),
            Err(e) => {
                assert_eq!(e, DequantError::NotWeights { ty });
                assert!(!golden.contains(&ty), "{ty} is refused");
            }
        }
    }
}

/// Blocks do not reach into their neighbours.
#[test]
fn a_row_is_its_blocks_in_turn() {
    let mut rows: BTreeMap<GgmlType, (Vec<u8>, Vec<f32>)> = BTreeMap::new();
    for (ty, _, bytes, _) in golden_blocks() {
        let (row, weights) = rows.entry(ty).or_default();
        weights.extend(dequantized(ty, &bytes));
        row.extend(bytes);
    }
    for (ty, (row, weights)) in rows {
        assert_eq!(bits(&dequantized(ty, &row)), bits(&weights), "{ty}");
    }
}

#[test]
fn an_empty_row_is_fine() {
    assert_eq!(dequantize_row(GgmlType::Q4_K, &[], &mut []), Ok(()));
}

#[test]
fn wrong_lengths_are_refused_and_nothing_is_written() {
    for ty in golden_blocks().into_iter().map(|(ty, ..)| ty) {
        let (len, size) = (ty.block_len() as usize, ty.block_bytes() as usize);
        let mut out = vec![7.0; 2 * len];
        for got in [0, size, 2 * size - 1, 2 * size + 1, 3 * size] {
            let expected = DequantError::Length { ty, elements: 2 * len, needed: 2 * size as u64, got };
            assert_eq!(dequantize_row(ty, &vec![0; got], &mut out), Err(expected));
        }
        if len > 1 {
            let expected = DequantError::PartialBlock { ty, elements: 2 * len - 1 };
            assert_eq!(dequantize_row(ty, &vec![0; 2 * size], &mut out[1..]), Err(expected));
        }
        assert!(out.iter().all(|&v| v == 7.0), "{ty}");
    }
}

#[test]
fn errors_say_what_was_needed_and_given() {
    let say = |ty, bytes: usize, elements| {
        dequantize_row(ty, &vec![0; bytes], &mut vec![0.0; elements]).unwrap_err().to_string()
    };
    assert_eq!(say(GgmlType::Q4_K, 10, 512), "512 elements of Q4_K take 288 bytes, 10 given");
    assert_eq!(
        say(GgmlType::Q4_1, 20, 31),
        "a row of 31 elements is not a whole number of Q4_1 blocks, of 32 elements each"
    );
    assert_eq!(say(GgmlType::I32, 8, 2), "I32 does not hold weights");
}
