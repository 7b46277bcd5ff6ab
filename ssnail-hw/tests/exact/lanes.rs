//! Fast versions of everything but GEMV and ATTN against the plain ones, on any bits and lengths.

use crate::cases::{Cases, bits, count, floats};
use ssnail_hw::fast::{self, Kernel};
use ssnail_hw::{norm, scalar, vector};
use ssnail_isa::Format;

/// Fewer cases than of single operations, since each has many elements.
fn vectors() -> u64 {
    count().div_ceil(5)
}

/// Runs the plain version and each kernel on what `case` makes: z holds rubbish before.
fn compare<I: std::fmt::Debug, Z: Copy + Default + PartialEq + std::fmt::Debug>(
    seed: u64,
    mut case: impl FnMut(&mut Cases) -> (I, usize),
    plain: impl Fn(&I, &mut [Z]),
    fast: impl Fn(Kernel, &I, &mut [Z]),
    same: impl Fn(&[Z], &[Z]) -> bool,
) {
    let mut c = Cases::new(seed);
    for _ in 0..vectors() {
        let (input, n) = case(&mut c);
        let mut want = vec![Z::default(); n];
        plain(&input, &mut want);
        for kernel in Kernel::all() {
            let mut got = vec![Z::default(); n];
            fast(kernel, &input, &mut got);
            assert!(same(&got, &want), "{} {input:?}\n got {got:?}\nwant {want:?}", kernel.name());
        }
    }
}

fn same_bits(a: &[f32], b: &[f32]) -> bool {
    bits(a) == bits(b)
}

fn of(c: &mut Cases, n: usize) -> Vec<f32> {
    floats(&c.vector(n))
}

#[test]
fn element_by_element() {
    type Plain = fn(&[f32], &[f32], &mut [f32]);
    type Fast = fn(Kernel, &[f32], &[f32], &mut [f32]);
    let ops: [(Plain, Fast); 4] = [
        (vector::vadd, fast::vadd),
        (vector::vmul, fast::vmul),
        (vector::silumul, fast::silumul),
        (|x, _, z| vector::gelu(x, z), |kernel, x, _, z| fast::gelu(kernel, x, z)),
    ];
    for (seed, (plain, fast)) in ops.into_iter().enumerate() {
        compare(
            60 + seed as u64,
            |c| {
                let n = c.below(70);
                ((of(c, n), of(c, n)), n)
            },
            |(x, y), z| plain(x, y, z),
            |kernel, (x, y), z| fast(kernel, x, y, z),
            same_bits,
        );
    }
}

#[test]
fn rope() {
    compare(
        64,
        |c| {
            let pairs = 1 + c.below(35);
            let n = 2 * pairs * (1 + c.below(3));
            ((of(c, n), of(c, 2 * pairs)), n)
        },
        |(x, table), z| {
            z.copy_from_slice(x);
            vector::rope(z, table);
        },
        |kernel, (x, table), z| {
            z.copy_from_slice(x);
            fast::rope(kernel, z, table);
        },
        same_bits,
    );
}

#[test]
fn cvt16() {
    compare(
        65,
        |c| {
            let n = c.below(70);
            (of(c, n), n)
        },
        |x, z| vector::cvt16(x, z),
        |kernel, x, z| fast::cvt16(kernel, x, z),
        |a, b| a == b,
    );
}

/// One F32 in 509, each followed by its neighbours.
#[test]
fn cvt16_all_over() {
    let mut x = vec![0.0; 3 << 10];
    let (mut want, mut got) = (vec![0; x.len()], vec![0; x.len()]);
    for first in (0..1u64 << 32).step_by(509 << 10) {
        for (i, x) in x.iter_mut().enumerate() {
            *x = f32::from_bits((first as u32).wrapping_add(509 * (i as u32 / 3) + i as u32 % 3));
        }
        vector::cvt16(&x, &mut want);
        for kernel in Kernel::all() {
            fast::cvt16(kernel, &x, &mut got);
            assert_eq!(got, want, "{} from {first:08X}", kernel.name());
        }
    }
}

#[test]
fn deqrow() {
    for (seed, format) in Format::ALL.into_iter().enumerate() {
        compare(
            66 + seed as u64,
            |c| {
                if format.is_quantised() {
                    let blocks = 1 + c.below(4);
                    return (c.blocks(blocks, format.block_bytes() as usize), 32 * blocks);
                }
                let n = c.below(70);
                let halves = |c: &mut Cases| (0..n).flat_map(|_| c.half().to_le_bytes()).collect();
                let row = match format {
                    Format::F16 => halves(c),
                    Format::F32 => c.vector(n).into_iter().flat_map(u32::to_le_bytes).collect(),
                    _ => c.vector(n).into_iter().flat_map(|v| ((v >> 16) as u16).to_le_bytes()).collect(),
                };
                (row, n)
            },
            |row, z| vector::deqrow(format, row, z),
            |kernel, row, z| fast::deqrow(kernel, format, row, z),
            same_bits,
        );
    }
}

#[test]
fn argmax() {
    compare(
        71,
        |c| {
            let longest = if c.below(10) == 0 { 3000 } else { 60 };
            let n = 1 + c.below(longest);
            let mut x = of(c, n);
            match c.below(4) {
                0 => x.iter_mut().for_each(|x| *x = x.round().min(2.0)),
                1 => x.fill([f32::NAN, f32::NEG_INFINITY][c.below(2)]),
                _ => {}
            }
            for _ in 0..c.below(3) {
                let at = c.below(n);
                x[at] = [f32::NEG_INFINITY, f32::NAN, 2.0, f32::INFINITY, -0.0][c.below(5)];
            }
            (x, 1)
        },
        |x, z| z[0] = vector::argmax(x),
        |kernel, x, z| z[0] = fast::argmax(kernel, x),
        |a, b| a == b,
    );
    for kernel in Kernel::all() {
        assert_eq!(fast::argmax(kernel, &[]), vector::argmax(&[]));
    }
}

#[test]
fn norms() {
    let case = |c: &mut Cases| {
        let n = 1 + c.below(70);
        let eps = if c.below(2) == 0 { 1e-5 } else { f32::from_bits(c.one()) };
        ((of(c, n), of(c, n), of(c, n), eps), n)
    };
    compare(
        72,
        case,
        |(x, gain, _, eps), z| norm::rmsnorm(x, gain, *eps, z),
        |kernel, (x, gain, _, eps), z| fast::rmsnorm(kernel, x, gain, *eps, z),
        same_bits,
    );
    compare(
        73,
        case,
        |(x, gain, bias, eps), z| norm::layernorm(x, gain, bias, *eps, z),
        |kernel, (x, gain, bias, eps), z| fast::layernorm(kernel, x, gain, bias, *eps, z),
        same_bits,
    );
}

#[test]
fn meanrows() {
    compare(
        74,
        |c| {
            let (rows, columns) = (1 + c.below(5), 1 + c.below(50));
            (of(c, rows * columns), columns)
        },
        |x, z| norm::meanrows(x, z),
        |kernel, x, z| fast::meanrows(kernel, x, z),
        same_bits,
    );
}

#[test]
fn nan_in_is_canonical_nan_out() {
    let x = [f32::from_bits(0xFF80_0001); 17];
    for kernel in Kernel::all() {
        let mut z = [0.0; 17];
        fast::vadd(kernel, &x, &x, &mut z);
        assert_eq!(bits(&z), [scalar::NAN_F32; 17]);
        let mut z = [0; 17];
        fast::cvt16(kernel, &x, &mut z);
        assert_eq!(z, [scalar::NAN_F16; 17]);
    }
}
