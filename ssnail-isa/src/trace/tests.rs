//! Both forms there and back, what readers refuse, comparisons, and that `TRACE.md` tells the truth.

use super::binary::RecordError;
use super::*;
use crate::check::check;
use crate::map::Board;
use crate::table::Opcode;
use proptest::prelude::*;

fn any_span() -> impl Strategy<Value = Span> {
    (0..=ADDRESS_MASK, any::<u32>()).prop_map(|(addr, len)| Span { addr, len })
}

fn any_write() -> impl Strategy<Value = Write> {
    prop_oneof![
        (0..=ADDRESS_MASK, prop::collection::vec(any::<u8>(), 1..40))
            .prop_map(|(a, b)| Write::new(a, &b).unwrap()),
        (any_span(), any::<u64>())
            .prop_map(|(s, d)| Write::long(Span { len: s.len.max(SHORT + 1), ..s }, d).unwrap()),
    ]
}

/// Records as they can be, whether or not an instruction does such a thing.
fn any_record() -> impl Strategy<Value = Record> {
    let registers = prop::collection::btree_map(0u8..35, any::<u32>(), 0..6).prop_map(|map| {
        map.into_iter()
            .filter_map(|(code, value)| Some((Register::from_code(code)?, value & ADDRESS_MASK)))
            .collect::<Vec<_>>()
    });
    (
        (any::<u64>(), 0..=ADDRESS_MASK, 0..=ADDRESS_MASK),
        (any::<Option<[u8; 16]>>(), 0u8..0x2A),
        prop::array::uniform5(prop::option::of(any_span())),
        registers,
        prop::option::of(any_write()),
        prop::option::of(prop::sample::select(Fault::ALL)),
    )
        .prop_map(|((number, pc, next), (word, op), operands, registers, write, fault)| {
            // Half of random first bytes are opcodes, and with byte 3 zero many words decode.
            let word = word.map(|mut w| {
                (w[0], w[3]) = (op, 0);
                w
            });
            Record { number, pc, word, operands, registers, next, write, fault }
        })
}

fn trace(form: Form, records: &[Record]) -> Vec<u8> {
    let mut out = form.header();
    records.iter().for_each(|r| form.append(r, &mut out));
    out
}

fn read_all(bytes: &[u8]) -> Result<Vec<Record>, TraceError> {
    Reader::new(bytes)?.collect()
}

proptest! {
    #[test]
    fn both_forms_round_trip(records in prop::collection::vec(any_record(), 0..8)) {
        for form in [Form::Binary, Form::Text] {
            let bytes = trace(form, &records);
            prop_assert_eq!(Reader::new(&bytes).unwrap().form(), form);
            prop_assert_eq!(read_all(&bytes), Ok(records.clone()), "{}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn a_record_is_never_longer_than_said(record in any_record()) {
        let mut out = Vec::new();
        binary::append(&record, &mut out);
        prop_assert!(out.len() <= binary::MAX_RECORD_BYTES);
    }

    #[test]
    fn a_cut_trace_is_refused_or_shorter(records in prop::collection::vec(any_record(), 1..4), cut in any::<prop::sample::Index>()) {
        let bytes = trace(Form::Binary, &records);
        let cut = cut.index(bytes.len());
        match read_all(&bytes[..cut]) {
            Ok(shorter) => prop_assert_eq!(trace(Form::Binary, &shorter), &bytes[..cut]),
            Err(TraceError::Magic) => prop_assert!(cut < binary::HEADER_BYTES),
            Err(TraceError::Record { offset, error: RecordError::Truncated { need, have, .. } }) => {
                prop_assert!(offset < cut && have < need);
            }
            Err(e) => panic!("{e}"),
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        records in prop::collection::vec(any_record(), 0..3), at in any::<prop::sample::Index>(), tail in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        for form in [Form::Binary, Form::Text] {
            let mut bytes = trace(form, &records);
            let at = at.index(bytes.len());
            bytes.splice(at.., tail.iter().copied());
            if let Ok(read) = read_all(&bytes) {
                prop_assert_eq!(read_all(&trace(form, &read)), Ok(read));
            }
        }
    }

    #[test]
    fn the_first_difference_is_found(
        records in prop::collection::vec(any_record(), 1..12), at in any::<prop::sample::Index>(), other in any_record(), context in 0usize..4,
    ) {
        let at = at.index(records.len());
        let mut changed = records.clone();
        changed[at] = other;
        prop_assume!(changed != records);
        let c = compared(&records, &changed, context);
        prop_assert_eq!((c.matched, c.agree()), (at as u64, false));
        prop_assert_eq!(&c.before, &records[at.saturating_sub(context)..at]);
        prop_assert_eq!(c.difference, Some((Some(records[at].clone()), Some(changed[at].clone()))));
        for (a, b) in [(&records[..], &records[..at]), (&records[..at], &records[..])] {
            let c = compared(a, b, context);
            prop_assert_eq!((c.matched, c.agree()), (at as u64, false));
            prop_assert_eq!(c.difference, Some((a.get(at).cloned(), b.get(at).cloned())));
        }
    }
}

fn compared(a: &[Record], b: &[Record], context: usize) -> Comparison {
    let ok = |r: &Record| Ok::<_, TraceError>(r.clone());
    compare(a.iter().map(ok), b.iter().map(ok), context).unwrap()
}

/// The lines of a block of `TRACE.md`.
fn example() -> &'static str {
    let page = include_str!("../../TRACE.md");
    page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap()
}

#[test]
fn the_example_of_the_page_is_what_is_printed() {
    let records = read_all(example().as_bytes()).unwrap();
    assert_eq!(String::from_utf8(trace(Form::Text, &records)).unwrap(), example());
}

#[test]
fn the_table_of_the_page_is_current() {
    let mut table = String::from("| field | lines | bytes | what it says |\n|---|---|---|---|\n");
    for f in FIELDS {
        table += &format!("| {} | {} | {} | {} |\n", f.name, f.text, f.binary, f.meaning);
    }
    let page = include_str!("../../TRACE.md");
    assert!(page.contains(&table), "ssnail-isa/TRACE.md has another table of fields than the code:\n{table}");
}

#[test]
fn a_record_tells_what_an_instruction_did() {
    let mut before = Registers { n: [2, 0, 0], pc: 0x800_5000, ..Registers::default() };
    before.a[3] = 0x801_0000;
    let i = Instruction { x: 0x8300_0008, z: 0x8300_0008, ..Instruction::new(Opcode::Gelu) };
    let checked = check(&i, &before, &Board::R3.map(), |_| [0; 8]).unwrap();
    let mut after = Registers { pc: 0x800_5010, ..before.clone() };
    (after.r[2], after.r[15]) = (5, 9);
    let record = Record::retired(7, &before, &i, &checked, &after, |span| {
        assert_eq!(span, Span { addr: 0x801_0008, len: 8 });
        &[1, 2, 3, 4, 5, 6, 7, 8]
    });
    insta::assert_snapshot!(record, @r"7 8005000 27000000 83000008 00000000 83000008 | GELU     [A3+0x8], [A3+0x8] | x=0x8010008+8 z=0x8010008+8 R2=0x5 next=0x8005010 write=0x8010008+8 digest=9C69136A91B667AB bytes=0102030405060708");
    let nothing = Checked { empty: true, ..checked };
    let nothing = Checked { xyz: nothing.xyz.map(|s| Span { len: 0, ..s }), ..nothing };
    let record = Record::retired(7, &before, &i, &nothing, &before, |_| unreachable!("nothing is written"));
    assert_eq!((record.write, record.registers), (None, vec![]));
}

#[test]
fn every_destination_of_the_table_is_a_write() {
    for spec in crate::table::TABLE {
        let span = |addr| Span { addr, len: 4 };
        let c = Checked { xyz: [span(0), span(1), span(2)], ..Checked::default() };
        let want = match spec.op {
            Opcode::Copy => Some(1),
            Opcode::Str | Opcode::Rope => Some(0),
            op if op.code() >= 0x10 && op != Opcode::Argmax => Some(2),
            _ => None,
        };
        assert_eq!(c.written(spec.op), want.map(span), "{}", spec.name);
    }
}

#[test]
fn refusals_of_bytes_name_offset_and_field() {
    let good = Record { registers: vec![(Register::R(1), 1), (Register::A(2), 2)], ..first() };
    let bytes = trace(Form::Binary, &[good.clone(), good]);
    let len = (bytes.len() - 16) / 2;
    let refusal = |at: usize, value: u8| {
        let mut bad = bytes.clone();
        bad[at] = value;
        read_all(&bad).unwrap_err().to_string()
    };
    let second = 16 + len;
    let all = [
        refusal(0, b'X'),
        refusal(8, 2),
        refusal(12, 1),
        refusal(16, 4),
        refusal(second + 1, 0x20),
        refusal(second + 2, 200),
        refusal(second + 3, 7),
        refusal(second + 15, 0x10),
        refusal(second + 36 + 3, 0xFF),
        refusal(second + 44, 15),
        refusal(second + 44, 20),
        refusal(second + 53, 0x10),
        refusal(second + 58, 0),
        refusal(second + 62, 0),
        refusal(second + 62 + 8, 1),
        read_all(&bytes[..bytes.len() - 1]).unwrap_err().to_string(),
        read_all(&[]).unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
this is no SSNAIL trace: it begins neither with `SSNLTRAC` nor with `# ssnail trace`
the trace has version 2, this reads version 1
the trace has version 1 with 0x1 after it, this reads version 1
record at offset 0x10: flags is 0x4, must be a sum of 1 (word) and 2 (write)
record at offset 0x5A: operands is 0x20, must be below 32, a bit for each of x, y, z, k, v
record at offset 0x5A: registers is 0xC8, must be 34 at most: there are no more registers
record at offset 0x5A: fault is 0x7, must be 0 or a fault code
record at offset 0x5A: pc: must be a 28-bit address
record at offset 0x5A: x: must be a 28-bit address
record at offset 0x5A: register is 0xF, must be 0..14, 16..31 or 32..34
record at offset 0x5A: registers: must be ascending
record at offset 0x5A: address register: must be a 28-bit address
record at offset 0x5A: length written is 0x0, must be 1 or more
record at offset 0x5A: digest is 0xAF63BA4C8601B200, must be that of the bytes
record at offset 0x5A: digest is 0xAF63BA4C8601B2C6, must be that of the bytes
record at offset 0x5A: the trace ends inside a record: bytes needs 4 bytes, 3 are left
this is no SSNAIL trace: it begins neither with `SSNLTRAC` nor with `# ssnail trace`
");
}

/// A record of an STR.
fn first() -> Record {
    read_all(example().as_bytes()).unwrap()[1].clone()
}

#[test]
fn refusals_of_lines_name_line_and_field() {
    let line = first().to_string();
    let refusal = |from: &str, to: &str| {
        assert!(line.contains(from), "{from}");
        let changed = line.replacen(from, to, 1);
        let trace = format!("{}\n# a remark\n{changed}\n", super::text::header());
        read_all(trace.as_bytes()).unwrap_err().to_string()
    };
    let all = [
        refusal("1 8005010", "one 8005010"),
        refusal("8005010", "+8005010"),
        refusal("8005010", "18005010"),
        refusal("0A010000", "A010000"),
        refusal("| ", ""),
        refusal("next=0x8005020", ""),
        refusal("next=0x8005020", "next=0x8005020 next=0"),
        refusal("next=0x8005020", "R15=1 next=0"),
        refusal("next=0x8005020", "R2=1 R1=1 next=0"),
        refusal("next=0x8005020", "next"),
        refusal("x=0x8020000+4", "x=0x8020000"),
        refusal("write=0x8020000+4", "write=0x8020000+5"),
        refusal("write=0x8020000+4", "write=0x8020000+50"),
        refusal("write=0x8020000+4", ""),
        refusal("bytes=07000000", "bytes=0700000"),
        refusal("bytes=07000000", "bytes=07000001"),
        refusal("bytes=07000000", ""),
        refusal("bytes=07000000", "bytes=07000000 fault=0"),
        read_all(b"# ssnail trace 2\n").unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
line 4: number is `one`, must be a decimal number
line 4: pc is `+8005010`, must be a hexadecimal number
line 4: pc: must be a 28-bit address
line 4: word is `A010000`, must be 8 hexadecimal digits, or `-` four times
line 4: the bar after the instruction is missing
line 4: next is missing
line 4: `next=0` is no field, or comes twice
line 4: `R15=1` is no field, or comes twice
line 4: registers: must be ascending
line 4: `next` is no field, or comes twice
line 4: x is `0x8020000`, must be address+length
line 4: bytes is `4 bytes`, must be as many as write says, and some
line 4: bytes is `4 bytes`, must be left out where so many were written
line 4: write is missing
line 4: bytes is `0700000`, must be pairs of hexadecimal digits
line 4: digest is `AF63BA4C8601B2C6`, must be that of the bytes
line 4: bytes is missing
line 4: fault is `0`, must be a fault code
the trace has version 2, this reads version 1
");
}

#[test]
fn a_comparison_shows_both_sides() {
    let records = read_all(example().as_bytes()).unwrap();
    let mut other = records.clone();
    other[1].write = Write::new(0x802_0000, &[7, 0, 0, 1]);
    other[1].registers = vec![(Register::R(4), 1)];
    let all = [
        compared(&records, &records, 8),
        compared(&records, &other, 8),
        compared(&records, &records[..2], 1),
        compared(&[], &records, 1),
        compared(&[], &[], 1),
    ];
    insta::assert_snapshot!(all.map(|c| c.to_string()).join("\n"), @r"
the traces agree: 3 records matched

  0 8005000 08010000 00000000 00000000 00000007 | LI       R1, 7 | R1=0x7 next=0x8005010
A 1 8005010 0A010000 08020000 00000000 00000000 | STR      R1, 0x8020000 | x=0x8020000+4 next=0x8005020 write=0x8020000+4 digest=AF63BA4C8601B2C6 bytes=07000000
B 1 8005010 0A010000 08020000 00000000 00000000 | STR      R1, 0x8020000 | x=0x8020000+4 R4=0x1 next=0x8005020 write=0x8020000+4 digest=AF63BA4E3901B2C6 bytes=07000001
digest: A has AF63BA4C8601B2C6, B has AF63BA4E3901B2C6
bytes: A has 07000000, B has 07000001
R4: A has nothing, B has 0x1
the traces differ; records that matched before: 1

  1 8005010 0A010000 08020000 00000000 00000000 | STR      R1, 0x8020000 | x=0x8020000+4 next=0x8005020 write=0x8020000+4 digest=AF63BA4C8601B2C6 bytes=07000000
A 2 8005020 20000000 08010000 08020000 08030000 | VADD     0x8010000, 0x8020000, 0x8030000 | next=0x8005020 fault=2
B has no more records
the traces differ; records that matched before: 2

A has no more records
B 0 8005000 08010000 00000000 00000000 00000007 | LI       R1, 7 | R1=0x7 next=0x8005010
the traces differ; records that matched before: 0

both traces are empty: nothing was compared
");
}
