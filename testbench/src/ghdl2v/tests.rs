//! What the parser refuses, and names. That the Verilog is right is shown by `tests/probes.rs`, on GHDL itself.

use super::{Error, convert};

const INVERTER: &str = "\
module {m2} $top
  module {m3} $not
    input $a[?];
  module {m400} \\wire
    input \\reg[7:0];
    output \\o[7:0];
    instance self{i1}: \\wire
      input \\o <- x{n4w8}
      outputs \\reg{n3w8}
    # a.vhd:12:3
    instance i2{i2}: $not
      input a <- r{n3w8}
      outputs o{n4w8}
  instance top{i9}: \\wire
";

#[test]
fn keywords_are_renamed_and_places_kept() {
    let v = convert(INVERTER).unwrap();
    assert!(
        v.text.contains("module wire_2 (\n  input  wire [7:0] reg_2,\n  output wire [7:0] o\n);"),
        "{}",
        v.text
    );
    assert!(v.text.contains("assign n4 = ~reg_2; // a.vhd:12\n"), "{}", v.text);
    assert_eq!(v.undriven, Vec::<String>::new());
}

#[test]
fn an_unknown_gate_is_an_error_that_names_place_and_gate() {
    let e = convert(&INVERTER.replace("$not\n      input a <-", "$frob\n      input a <-")).unwrap_err();
    assert_eq!(e.to_string(), "a.vhd:12: $frob in module wire: gate not supported");
}

#[test]
fn an_unconnected_input_is_an_error() {
    let e = convert(&INVERTER.replace("input a <- r{n3w8}", "input a <-")).unwrap_err();
    assert_eq!(e.to_string(), "a.vhd:12: $not in module wire: input 0 is not connected");
}

#[test]
fn lines_that_are_not_the_dumps_are_errors_with_their_number() {
    for (from, to, line) in [
        ("output \\o[7:0];", "output \\o[7:1];", 6),
        ("r{n3w8}\n      outputs o", "r{n3}\n      outputs o", 12),
        ("outputs o{n4w8}", "drives o{n4w8}", 13),
    ] {
        let e = convert(&INVERTER.replace(from, to)).unwrap_err();
        assert!(matches!(e, Error::Line { line: l, .. } if l == line), "{e}");
    }
    assert_eq!(convert("module {m2} $top\n"), Err(Error::Empty));
}
