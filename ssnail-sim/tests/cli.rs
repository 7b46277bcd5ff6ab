//! The command line over hand-made images: output, files and exit status.

mod support;

use std::path::Path;
use std::process::{Command, Output};

struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with `d.ssnail`, a decoder, and `e.ssnail`, an encoder.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("d.ssnail"), support::decoder()).unwrap();
        std::fs::write(folder.path().join("e.ssnail"), support::encoder()).unwrap();
        Folder(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn sim(&self, args: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ssnail-sim"))
            .args(args.split_whitespace())
            .current_dir(self.path())
            .output()
            .unwrap()
    }

    /// Standard output of a run that succeeds.
    fn out(&self, args: &str) -> String {
        let output = self.sim(args);
        assert!(output.status.success(), "{args}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exit status and standard error of a run that does not.
    fn err(&self, args: &str) -> (i32, String) {
        let output = self.sim(args);
        assert!(output.stdout.is_empty(), "{args}: {}", String::from_utf8_lossy(&output.stdout));
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn text_streams_after_the_prompt() {
    let f = Folder::new();
    assert_eq!(f.out("d.ssnail"), "Once upon a caf\u{E9}\n");
    assert_eq!(f.out("d.ssnail --tokens 0,2 -n 2"), "Once upon a\n");
    assert_eq!(f.out("d.ssnail --tokens 2 -n 5 --ascii"), "Once upon a cafe\n");
    assert_eq!(f.out("d.ssnail --tokens 2 -n 4"), "Once upon a caf\u{FFFD}\n");
    assert_eq!(f.out("d.ssnail --tokens 2 -n 0"), "Once\n");
}

#[test]
fn json_is_one_object() {
    let f = Folder::new();
    let text = f.out("d.ssnail --tokens 2 --json -n 9");
    let want = r#"{"prompt":[2],"generated":[3,4,5,6,7,1],"text":" upon a café","stop":"eos"}"#;
    assert_eq!(text, format!("{want}\n"));
    assert_eq!(
        f.out("d.ssnail --tokens 1,1,1,1,1,1,1,1,1,1,1 --json --greedy"),
        "{\"prompt\":[1,1,1,1,1,1,1,1,1,1,1],\"generated\":[0,2],\"text\":\"Once\",\"stop\":\"count\"}\n"
    );
    let full = f.out("d.ssnail --tokens 1,1,1,1,1,1,1,1,1,1,1,1 --json -n 5");
    assert!(full.contains("\"generated\":[0]") && full.contains("\"stop\":\"context\""), "{full}");
    assert_eq!(
        f.out("e.ssnail --tokens 2,4 --json"),
        "{\"prompt\":[2,4],\"stop\":\"count\",\"embedding\":[3.0,10.0,1.0,-3.0]}\n"
    );
    assert_eq!(f.out("e.ssnail --tokens 2,4"), "3\n10\n1\n-3\n");
}

#[test]
fn hardware_numerics_are_the_same_with_and_without_kernels() {
    let f = Folder::new();
    let logits = |args: &str| {
        f.out(&format!("d.ssnail --tokens 0,3 -n 2 --logits-out l.bin {args}"));
        std::fs::read(f.path().join("l.bin")).unwrap()
    };
    assert_eq!(logits("--hw"), logits("--hw --plain"));
    assert_eq!(f.out("d.ssnail --hw"), "Once upon a caf\u{E9}\n");
    assert_eq!(f.sim("d.ssnail --plain").status.code(), Some(2));
}

#[test]
fn sampling_follows_its_seed() {
    let f = Folder::new();
    let run = |args: &str| f.out(&format!("d.ssnail --tokens 2 --json -n 9 {args}"));
    assert_eq!(run("--temp 3 --top-k 0 --seed 5"), run("--temp 3 --top-k 0 --seed 5"));
    let texts: std::collections::BTreeSet<String> =
        (0..5).map(|seed| run(&format!("--temp 3 --top-k 0 --top-p 1 --seed {seed}"))).collect();
    assert!(texts.len() > 1, "{texts:?}");
    let greedy = "\"generated\":[3,4,5,6,7,1],\"text\":\" upon a café\",\"stop\":\"eos\"";
    assert!(run("--top-k 1").contains(greedy));
    assert!(run("--temp 0 --seed 1").contains(greedy));
}

#[test]
fn logits_have_a_row_for_every_position() {
    let f = Folder::new();
    let rows = |args: &str| -> Vec<Vec<f32>> {
        f.out(&format!("d.ssnail --logits-out l.bin {args}"));
        let bytes = std::fs::read(f.path().join("l.bin")).unwrap();
        let floats: Vec<f32> = bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        floats.chunks(8).map(<[f32]>::to_vec).collect()
    };
    let after = |tokens: &[u32]| tokens.iter().map(|&t| support::logits_after(t)).collect::<Vec<_>>();
    assert_eq!(rows("--tokens 0,3,7,4 -n 2"), after(&[0, 3, 7, 4, 5]));
    assert_eq!(rows("--tokens 0,3 -n 0"), after(&[0, 3]));
    assert_eq!(rows("--tokens 6"), after(&[6, 7]));
    assert_eq!(
        f.out("d.ssnail --tokens 0,2 -n 3 --logits-out l.bin --json"),
        f.out("d.ssnail --tokens 0,2 -n 3 --json")
    );
    let names = std::fs::read_dir(f.path()).unwrap().count();
    assert_eq!(names, 3, "nothing but the images and l.bin");
    assert_eq!(f.sim("d.ssnail --logits-out nowhere/l.bin").status.code(), Some(2));
}

#[test]
fn stats_go_to_standard_error() {
    let f = Folder::new();
    let output = f.sim("d.ssnail --tokens 2,3 -n 2 --stats --bandwidth 10");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("GEMV 3") && text.contains("MB a token") && text.contains("with 10 MB/s"),
        "{text}"
    );
    assert_eq!(output.stdout, b"Once upon a caf\n");
}

#[test]
fn what_does_not_fit_is_1_and_what_goes_wrong_is_2() {
    let f = Folder::new();
    let write = |name: &str, bytes: &[u8]| std::fs::write(f.path().join(name), bytes).unwrap();
    let (code, text) = f.err("d.ssnail --tokens 1,1,1,1,1,1,1,1,1,1,1,1,1");
    assert_eq!(code, 1);
    assert!(text.contains("the prompt is too long") && text.contains("--ctx above 12"), "{text}");
    let (code, text) = f.err("e.ssnail --json --tokens 1,1,1,1,1,1,1,1,1,1,1,1,1");
    assert!(code == 1 && text.contains("13 tokens do not fit the context of 12"), "{text}");

    let mut large = support::decoder();
    large[0x38..0x3C].copy_from_slice(&(9u32 << 20).to_le_bytes());
    write("large.ssnail", &large);
    let (code, text) = f.err("large.ssnail --board r3");
    assert!(code == 1 && text.contains("needs 9437184 bytes"), "{text}");
    assert_eq!(f.sim("large.ssnail --board r6").status.code(), Some(0));

    let gemv = "GEMV    F32, 0x8006100, 0x8007100, 0x8007000";
    write("bad.ssnail", &support::spoiled_decoder(gemv, "GEMV F32, 0x9000000, 0x8007100, 0x8007000"));
    let (code, text) = f.err("bad.ssnail --json");
    let want = "bad.ssnail: fault 2 at PC 8005100, an operand, or the fetch, is not wholly inside one RAM region: \
                `GEMV F32, 0x9000000, 0x8007100, 0x8007000`";
    assert!(code == 2 && text.contains(want), "{text}");
    write("loop.ssnail", &support::spoiled_decoder("HALT", "BEQ R0, R0, stop"));
    let (code, text) = f.err("loop.ssnail --json --max-instructions 5000");
    assert!(code == 2 && text.contains("no HALT after 5000 instructions, stopped at PC"), "{text}");

    write("empty.ssnail", b"");
    write("short.ssnail", &support::decoder()[..1000]);
    let mut none = support::decoder();
    none[0xA18..0xA1C].fill(0xFF); // the begin token
    write("none.ssnail", &none);
    for (args, want) in [
        ("empty.ssnail", "empty.ssnail: the file has 0 bytes"),
        ("short.ssnail", "short.ssnail: payload_bytes at offset 0x2C"),
        ("missing.ssnail", "missing.ssnail: "),
        ("e.ssnail", "hint: give one with --prompt"),
        ("none.ssnail", "the prompt has no tokens, and this model no token to begin with"),
        ("e.ssnail --tokens 1 -n 3", "this is an encoder"),
        ("d.ssnail --json --tokens 9", "token 9 at position 0 is not below 8"),
        ("d.ssnail --tokens 1 --prompt x", "cannot be used with"),
        ("d.ssnail --temp=-1", "not a number of 0 or more"),
        ("d.ssnail --top-p 1.5", "not a number between 0 and 1"),
        ("d.ssnail --board r9", "not r3, r6 or preview"),
        ("d.ssnail --greedy --temp 1", "cannot be used with"),
    ] {
        let (code, text) = f.err(args);
        assert!(code == 2 && text.contains(want), "{args}: {text}");
    }
}
