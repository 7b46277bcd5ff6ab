//! The arithmetic units of `hdl/core` alone, against the plain Rust of ssnail-hw: every special value, ties, subnormals,
//! cancellation, with and without gaps. `SSNAIL_UNIT_CASES=long` runs ten times as many cases.

mod dot;
mod exact;
mod harness;
mod operands;
mod quantise;

use harness::{Unit, cases, latency};
use operands::{pairs, singles};
use ssnail_hw::scalar;
use ssnail_hw::tables::{EXP, GELU, SILU};
use testbench::model::Model;

/// A function that sets the ports of these names.
macro_rules! drive {
    ($unit:expr; $($port:literal),*) => {{
        let ports = [$( $unit.model.port($port) ),*];
        move |m: &mut Model, values: [u64; ports_len!($($port),*)]| {
            for (port, value) in ports.into_iter().zip(values) {
                m.set(port, value);
            }
        }
    }};
}
macro_rules! ports_len {
    ($($port:literal),*) => { [$( $port ),*].len() };
}

fn output(unit: &Unit, name: &str) -> impl Fn(&Model) -> u64 + use<> {
    let port = unit.model.port(name);
    move |m| m.get(port)
}

fn bits(x: f32) -> u64 {
    u64::from(x.to_bits())
}

#[test]
fn add() {
    let Some(mut unit) = Unit::new("fp_add") else { return };
    let set = drive!(unit; "a", "b", "subtract");
    let y = output(&unit, "y");
    let list = pairs(1, cases(1_000_000)).enumerate().map(|(i, [a, b])| {
        let subtract = i % 7 == 0;
        let (fa, fb) = (f32::from_bits(a), f32::from_bits(b));
        let want = if subtract { scalar::sub(fa, fb) } else { scalar::add(fa, fb) };
        ([u64::from(a), u64::from(b), u64::from(subtract)], bits(want))
    });
    unit.pipelined(latency("FP_ADD_LATENCY"), list, set, y);
}

#[test]
fn mul() {
    let Some(mut unit) = Unit::new("fp_mul") else { return };
    let set = drive!(unit; "a", "b");
    let y = output(&unit, "y");
    let list = pairs(2, cases(1_000_000)).map(|[a, b]| {
        let want = scalar::mul(f32::from_bits(a), f32::from_bits(b));
        ([u64::from(a), u64::from(b)], bits(want))
    });
    unit.pipelined(latency("FP_MUL_LATENCY"), list, set, y);
}

#[test]
fn half_to_single_is_exhaustive() {
    let Some(mut unit) = Unit::new("f16_to_f32") else { return };
    let set = drive!(unit; "a");
    let y = output(&unit, "y");
    let list = (0..=u16::MAX).map(|h| ([u64::from(h)], bits(scalar::f16_to_f32(h))));
    unit.pipelined(latency("F16_TO_F32_LATENCY"), list, set, y);
}

#[test]
fn single_to_half_around_every_half() {
    let Some(mut unit) = Unit::new("f32_to_f16") else { return };
    let set = drive!(unit; "a");
    let y = output(&unit, "y");
    // Each half, the middle to the next one, and the neighbours of both.
    let near = (0..=u16::MAX).flat_map(|h| {
        let x = scalar::f16_to_f32(h).to_bits();
        let next = scalar::f16_to_f32(if h & 0x7FFF == 0x7C00 { h } else { h.wrapping_add(1) }).to_bits();
        let middle = ((u64::from(x) + u64::from(next)) / 2) as u32;
        [x, middle].into_iter().flat_map(|v| [v.wrapping_sub(1), v, v.wrapping_add(1)])
    });
    let list = near.chain(singles(3, cases(1_000_000)));
    let list = list.map(|x| ([u64::from(x)], u64::from(scalar::f32_to_f16(f32::from_bits(x)))));
    unit.pipelined(latency("F32_TO_F16_LATENCY"), list, set, y);
}

#[test]
fn integer_to_single() {
    let Some(mut unit) = Unit::new("int_to_f32") else { return };
    let set = drive!(unit; "a");
    let y = output(&unit, "y");
    let mut random = operands::Operands::new(4);
    let around = (0..32).flat_map(|k| (-2..=2i32).map(move |d| (1u32 << k).wrapping_add_signed(d) as i32));
    let shifted = std::iter::repeat_with(move || {
        let r = random.word();
        (r >> 32) as i32 >> (r & 31)
    });
    let list = around.clone().chain(around.map(i32::wrapping_neg)).chain(shifted.take(cases(200_000)));
    let list = list.map(|i| ([u64::from(i as u32)], bits(i as f32)));
    unit.pipelined(latency("INT_TO_F32_LATENCY"), list, set, y);
}

#[test]
fn single_to_int8() {
    let Some(mut unit) = Unit::new("f32_to_int8") else { return };
    let set = drive!(unit; "a");
    let y = output(&unit, "y");
    let mut random = operands::Operands::new(5);
    let halves = (-254..=254).flat_map(|h| {
        let x = h as f32 / 2.0;
        [x.next_down(), x, x.next_up()]
    });
    let small = std::iter::repeat_with(move || {
        let r = random.word();
        f32::from_bits((r >> 32) as u32 & 0x81FF_FFFF | 0x3E00_0000) * (1 << (r & 7)) as f32
    });
    let any = singles(5, cases(100_000)).map(f32::from_bits);
    let list = halves.chain(small.take(cases(200_000))).chain(any);
    let list = list.filter(|x| !x.is_finite() || x.abs() < 127.5).map(|x| {
        let want = if x.is_finite() { x.round() as i8 } else { 0 };
        ([bits(x)], u64::from(want as u8))
    });
    unit.pipelined(latency("F32_TO_INT8_LATENCY"), list, set, y);
}

#[test]
fn compare() {
    let Some(mut unit) = Unit::new("fp_compare") else { return };
    let set = drive!(unit; "a", "b");
    let [greater, unordered] = ["greater", "unordered"].map(|p| unit.model.port(p));
    let list = pairs(6, cases(200_000)).map(|[a, b]| {
        let (fa, fb) = (f32::from_bits(a), f32::from_bits(b));
        ([u64::from(a), u64::from(b)], (fa > fb, fa.is_nan() || fb.is_nan()))
    });
    let result = move |m: &Model| (m.is_set(greater), m.is_set(unordered));
    unit.pipelined(latency("FP_COMPARE_LATENCY"), list, set, result);
}

#[test]
fn divide() {
    let Some(mut unit) = Unit::new("fp_div") else { return };
    let set = drive!(unit; "a", "b");
    let y = output(&unit, "y");
    // What the RTL divides most: 1 / x and x / 127, among numbers that are not subnormal.
    let mut random = operands::Operands::new(7);
    let usual = std::iter::repeat_with(move || {
        let x = (random.word() >> 32) as u32;
        let x = x & 0x8FFF_FFFF | 0x3000_0000;
        if x & 1 == 0 { [0x3F80_0000, x] } else { [x, 0x42FE_0000] }
    });
    let list = usual.take(cases(20_000)).chain(pairs(7, cases(80_000))).map(|[a, b]| {
        let want = scalar::canonical(f32::from_bits(a) / f32::from_bits(b));
        ([u64::from(a), u64::from(b)], bits(want))
    });
    assert_eq!(unit.iterative(list, set, y), latency("FP_DIV_CYCLES") as u64);
}

#[test]
fn square_root() {
    let Some(mut unit) = Unit::new("fp_sqrt") else { return };
    let set = drive!(unit; "a");
    let y = output(&unit, "y");
    let mut random = operands::Operands::new(8);
    let usual = std::iter::repeat_with(move || (random.word() >> 33) as u32 & 0x7FFF_FFFF | 0x0100_0000);
    let squares = (1..5000u32).map(|i| ((i * i) as f32).to_bits());
    let list = usual.take(cases(20_000)).chain(squares).chain(singles(8, cases(80_000)));
    // Not by `canonical` of the root: LLVM takes it for the root itself, and keeps the payload of a NaN.
    let list = list.map(|a| {
        let x = f32::from_bits(a);
        let want = if x.is_nan() || x < 0.0 { scalar::NAN_F32 } else { x.sqrt().to_bits() };
        ([u64::from(a)], u64::from(want))
    });
    assert_eq!(unit.iterative(list, set, y), latency("FP_SQRT_CYCLES") as u64);
}

#[test]
fn tables() {
    let Some(mut unit) = Unit::new("fp_table") else { return };
    let set = drive!(unit; "func", "a");
    let y = output(&unit, "y");
    let functions = [&SILU, &GELU, &EXP];
    // The neighbours of every end of a segment, then numbers inside, then any.
    let ends = (0..3u64).flat_map(move |f| {
        let t = functions[f as usize];
        (0..=256).flat_map(move |i| {
            let x = t.lo + i as f32 * ((t.hi - t.lo) / 256.0);
            let bits = x.to_bits();
            (-4..=4).map(move |d| (f, bits.wrapping_add_signed(d)))
        })
    });
    let mut random = operands::Operands::new(9);
    let inside = std::iter::repeat_with(move || {
        let r = random.word();
        let (f, unit) = (r % 3, (r >> 40) as f32 / (1 << 24) as f32);
        let t = functions[f as usize];
        (f, (t.lo + unit * (t.hi - t.lo)).to_bits())
    });
    let any = singles(9, cases(100_000)).enumerate().map(|(i, x)| (i as u64 % 3, x));
    let list = ends.chain(inside.take(cases(200_000))).chain(any);
    let list =
        list.map(move |(f, x)| ([f, u64::from(x)], bits(functions[f as usize].eval(f32::from_bits(x)))));
    unit.pipelined(latency("FP_TABLE_LATENCY"), list, set, y);
}

#[test]
fn quantise() {
    let Some(mut unit) = Unit::new("fp_quantise") else { return };
    let per_element = unit.quantise(cases(6_000));
    assert!(per_element <= 1.5, "{per_element} cycles an element");
}
