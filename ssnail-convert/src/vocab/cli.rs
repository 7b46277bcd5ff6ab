//! The subcommands `tokenize`, `detok` and `vocab`.

use super::{DecodeOptions, EncodeOptions, SpecialIds, TokenType, Tokenizer, VocabData, VocabKind};
use crate::gguf::Gguf;
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print the ids a model's own tokenizer gives a text.
#[derive(Debug, Args)]
pub struct TokenizeArgs {
    /// GGUF model or vocabulary
    pub model: PathBuf,
    /// Text, or - to read standard input
    #[arg(allow_hyphen_values = true)]
    pub text: String,
    /// Leave out the begin and end tokens that the model wants around a text
    #[arg(long)]
    pub no_bos: bool,
    /// Read special tokens in the text, such as <|im_start|>, as what they say
    #[arg(long)]
    pub special: bool,
    /// Print one token a line with the text it stands for
    #[arg(long)]
    pub pieces: bool,
    /// Pre-tokenizer to use instead of the file's tokenizer.ggml.pre
    #[arg(long, value_name = "NAME")]
    pub pre: Option<String>,
    /// Print {"ids": [...], "pieces": [...]}
    #[arg(long)]
    pub json: bool,
}

/// Print the text that ids stand for.
#[derive(Debug, Args)]
pub struct DetokArgs {
    /// GGUF model or vocabulary
    pub model: PathBuf,
    /// Ids, separated by commas or blanks
    #[arg(required = true)]
    pub ids: Vec<String>,
    /// Print special tokens too, by their names
    #[arg(long)]
    pub special: bool,
    /// The ids go on with a text: keep the space at the start
    #[arg(long = "continue")]
    pub continuation: bool,
    /// Print {"text": ..., "pieces": [...]}; bytes that are no UTF-8 become U+FFFD in the text
    #[arg(long)]
    pub json: bool,
}

/// Describe a model's vocabulary and list tokens of it.
#[derive(Debug, Args)]
pub struct VocabArgs {
    /// GGUF model or vocabulary
    pub model: PathBuf,
    /// Most tokens to list [default: 20, with --find all that are found]
    #[arg(short, value_name = "N")]
    pub n: Option<usize>,
    /// List only tokens with this in their text; exit code 1 if there are none
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub find: Option<String>,
    /// Pre-tokenizer to use instead of the file's tokenizer.ggml.pre
    #[arg(long, value_name = "NAME")]
    pub pre: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The tokenizer of a model file.
///
/// # Errors
/// The file is no GGUF, or its vocabulary cannot be used; the message begins with the path.
pub fn open(model: &Path, pre: Option<&str>) -> Result<Tokenizer> {
    let gguf = Gguf::open(model)?;
    let read = || Tokenizer::new(VocabData::from_gguf(&gguf)?, pre);
    read().with_context(|| model.display().to_string())
}

/// Runs `tokenize`; what it says goes to `out`.
///
/// # Errors
/// The model or standard input cannot be read, or `out` not written.
pub fn tokenize(args: &TokenizeArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let tokenizer = open(&args.model, args.pre.as_deref())?;
    let mut input = String::new();
    let text = if args.text == "-" {
        std::io::stdin().read_to_string(&mut input).context("standard input")?;
        &input
    } else {
        &args.text
    };
    let ids =
        tokenizer.encode(text, EncodeOptions { add_special: !args.no_bos, parse_special: args.special });
    if args.json {
        writeln!(out, "{}", json!({ "ids": ids, "pieces": pieces(&tokenizer, &ids) }))?;
    } else if args.pieces {
        for &id in &ids {
            writeln!(out, "{id:>8}  '{}'", tokenizer.piece(id))?;
        }
    } else {
        let ids: Vec<_> = ids.iter().map(u32::to_string).collect();
        writeln!(out, "{}", ids.join(","))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `detok`; the text and a line break go to `out`.
///
/// # Errors
/// The model cannot be read, an id is none of its, or `out` cannot be written.
pub fn detok(args: &DetokArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let tokenizer = open(&args.model, None)?;
    let mut ids = Vec::new();
    for word in
        args.ids.iter().flat_map(|ids| ids.split([',', ' ', '\t', '\n'])).filter(|word| !word.is_empty())
    {
        let id: u32 = word.parse().with_context(|| format!("'{word}' is no token id"))?;
        if id as usize >= tokenizer.len() {
            bail!("{}: no token {id}, the last one is {}", args.model.display(), tokenizer.len() - 1);
        }
        ids.push(id);
    }
    let text =
        tokenizer.decode(&ids, DecodeOptions { show_special: args.special, continuation: args.continuation });
    if args.json {
        let text = String::from_utf8_lossy(&text);
        writeln!(out, "{}", json!({ "text": text, "pieces": pieces(&tokenizer, &ids) }))?;
    } else {
        out.write_all(&text)?;
        writeln!(out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `vocab`; the listing goes to `out`.
///
/// # Errors
/// The model cannot be read, or `out` not written.
pub fn vocab(args: &VocabArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let tokenizer = open(&args.model, args.pre.as_deref())?;
    let wanted = args.find.as_deref().unwrap_or_default().as_bytes();
    let contains =
        |text: Option<&[u8]>| text.is_some_and(|text| memchr::memmem::find(text, wanted).is_some());
    let limit = args.n.unwrap_or(if args.find.is_some() { usize::MAX } else { 20 });
    let found = |id: &u32| contains(tokenizer.bytes(*id)) || contains(tokenizer.text(*id));
    let ids: Vec<u32> = (0..tokenizer.len() as u32).filter(found).take(limit).collect();
    if args.json {
        let tokens: Vec<_> = ids.iter().map(|&id| token_json(&tokenizer, id)).collect();
        let mut summary = summary_json(&tokenizer);
        summary["tokens"] = Value::Array(tokens);
        writeln!(out, "{summary}")?;
    } else {
        if args.find.is_none() {
            write_summary(&tokenizer, out)?;
        }
        for &id in &ids {
            let kind = tokenizer.token_type(id).map_or("", |kind| kind.name());
            let score = match tokenizer.kind() {
                VocabKind::SentencePiece => format!("{:>10}", tokenizer.score(id).unwrap_or(0.0)),
                VocabKind::ByteBpe | VocabKind::WordPiece => String::new(),
            };
            writeln!(out, "{id:>8}  {kind:<12}{score}  '{}'", tokenizer.piece(id))?;
        }
    }
    let none_found = args.find.is_some() && ids.is_empty() && limit > 0;
    Ok(if none_found { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn pieces(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<String> {
    ids.iter().map(|&id| tokenizer.piece(id)).collect()
}

fn token_json(tokenizer: &Tokenizer, id: u32) -> Value {
    json!({
        "id": id,
        "text": String::from_utf8_lossy(tokenizer.text(id).unwrap_or_default()),
        "piece": tokenizer.piece(id),
        "type": tokenizer.token_type(id).map(TokenType::name),
        "score": tokenizer.score(id),
    })
}

/// The special tokens with their names.
fn named(ids: SpecialIds) -> [(&'static str, Option<u32>); 7] {
    let SpecialIds { bos, eos, eot, unk, sep, pad, mask } = ids;
    [("bos", bos), ("eos", eos), ("eot", eot), ("unk", unk), ("sep", sep), ("pad", pad), ("mask", mask)]
}

fn summary_json(tokenizer: &Tokenizer) -> Value {
    let special: serde_json::Map<_, _> =
        named(tokenizer.ids()).into_iter().map(|(name, id)| (name.to_owned(), json!(id))).collect();
    json!({
        "model": tokenizer.model(),
        "pre": tokenizer.pre(),
        "n_tokens": tokenizer.len(),
        "n_merges": tokenizer.merges().len(),
        "special": special,
        "ends_of_generation": tokenizer.ends_of_generation(),
        "add_bos": tokenizer.adds_bos(),
        "add_eos": tokenizer.adds_eos(),
        "add_space_prefix": tokenizer.adds_space_prefix(),
    })
}

fn write_summary(tokenizer: &Tokenizer, out: &mut dyn Write) -> Result<()> {
    let kind = match tokenizer.kind() {
        VocabKind::SentencePiece => "SentencePiece",
        VocabKind::ByteBpe => "byte-level BPE",
        VocabKind::WordPiece => "WordPiece",
    };
    write!(out, "{kind} ({}), {} tokens", tokenizer.model(), tokenizer.len())?;
    if let (VocabKind::ByteBpe, Some(pre)) = (tokenizer.kind(), tokenizer.pre()) {
        write!(out, ", {} merges, pre-tokenizer {pre}", tokenizer.merges().len())?;
    }
    writeln!(out)?;
    for (name, id) in named(tokenizer.ids()) {
        if let Some(id) = id {
            writeln!(out, "{name:<5}{id:>7}  '{}'", tokenizer.piece(id))?;
        }
    }
    let yes_no = |yes| if yes { "yes" } else { "no" };
    let (first, last) = (yes_no(tokenizer.adds_bos()), yes_no(tokenizer.adds_eos()));
    writeln!(out, "begin token added: {first}, end token added: {last}\n")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::{ArrayBuf, GgufWriter};
    use clap::{Command, FromArgMatches};

    /// A file with a little SentencePiece vocabulary: unknown, begin, end, " a", "b", "é".
    fn model() -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let tokens = ["<unk>", "<s>", "</s>", "▁a", "b", "é", "▁"];
        let mut gguf = GgufWriter::new();
        gguf.meta("tokenizer.ggml.model", "llama")
            .meta("tokenizer.ggml.tokens", ArrayBuf::new(tokens.map(str::as_bytes)).as_array())
            .meta("tokenizer.ggml.token_type", ArrayBuf::new([2i32, 3, 3, 1, 1, 1, 1]).as_array())
            .meta(
                "tokenizer.ggml.scores",
                ArrayBuf::new([0.0f32, 0.0, 0.0, -1.0, -2.0, -2.0, -2.5]).as_array(),
            )
            .meta("tokenizer.ggml.padding_token_id", -1i32);
        gguf.write(file.path()).unwrap();
        file
    }

    /// Parses `line` behind the model's path and runs it; exit code and output.
    fn run<A: Args + FromArgMatches>(
        action: fn(&A, &mut dyn Write) -> Result<ExitCode>,
        line: &[&str],
    ) -> Result<(String, String)> {
        let model = model();
        let path = model.path().to_str().unwrap();
        let matches =
            A::augment_args(Command::new("x")).try_get_matches_from(["x", path].iter().chain(line))?;
        let mut out = Vec::new();
        let code = action(&A::from_arg_matches(&matches)?, &mut out)?;
        Ok((format!("{code:?}"), String::from_utf8(out)?))
    }

    fn output<A: Args + FromArgMatches>(
        action: fn(&A, &mut dyn Write) -> Result<ExitCode>,
        line: &[&str],
    ) -> String {
        let (code, out) = run(action, line).unwrap();
        assert_eq!(code, format!("{:?}", ExitCode::SUCCESS));
        out
    }

    #[test]
    fn tokenize_prints_ids_or_pieces() {
        assert_eq!(output(tokenize, &["ab"]), "1,3,4\n");
        assert_eq!(output(tokenize, &["--no-bos", "ab"]), "3,4\n");
        assert_eq!(output(tokenize, &["a</s>", "--special", "--no-bos"]), "3,2\n");
        assert_eq!(output(tokenize, &["-b", "--no-bos"]), "6,0,4\n");
        assert_eq!(output(tokenize, &["é", "--pieces"]), "       1  '<s>'\n       6  ' '\n       5  'é'\n");
        assert_eq!(output(tokenize, &["a", "--json"]), "{\"ids\":[1,3],\"pieces\":[\"<s>\",\" a\"]}\n");
        assert!(run(tokenize, &["a", "--pre", "nonsense"]).is_err());
    }

    #[test]
    fn detok_prints_text() {
        assert_eq!(output(detok, &["1,3,4"]), "ab\n");
        assert_eq!(output(detok, &["1", "3, 4", "--special"]), "<s>ab\n");
        assert_eq!(output(detok, &["3,4", "--continue"]), " ab\n");
        let message = run(detok, &["3,7"]).unwrap_err().to_string();
        assert!(message.ends_with("no token 7, the last one is 6"), "{message}");
        assert!(run(detok, &["3,x"]).is_err());
    }

    #[test]
    fn vocab_lists_and_finds() {
        let listing = output(vocab, &["-n", "1"]);
        assert!(listing.starts_with("SentencePiece (llama), 7 tokens\nbos        1  '<s>'\n"), "{listing}");
        assert!(listing.ends_with("\n       0  unknown              0  '<unk>'\n"), "{listing}");
        assert!(!listing.contains("pad"), "{listing}");
        assert_eq!(output(vocab, &["--find", "b"]), "       4  normal              -2  'b'\n");
        let none = run(vocab, &["--find", "zz"]).unwrap();
        assert_eq!(none, (format!("{:?}", ExitCode::from(1)), String::new()));
        let json: Value = serde_json::from_str(&output(vocab, &["--json", "-n", "2"])).unwrap();
        assert_eq!((&json["n_tokens"], &json["tokens"][1]["type"]), (&json!(7), &json!("control")));
        assert_eq!(json["special"]["pad"], Value::Null);
    }
}
