//! VHDL that GHDL 2.0.0 synthesises to something else than it simulates, as far as a line of text shows it. A line that
//! only looks like it says so: `-- flow: ok` and why.

use regex::Regex;
use std::path::{Path, PathBuf};

/// A comment with which a line is let through.
const ALLOWED: &str = "-- flow: ok";

/// What must not be written, and what to write instead.
const RULES: &[(&str, &str)] = &[
    (
        r"\brotate_(?:left|right)\s*\(",
        "rotations by an amount that can reach the width are wrong; use rol or ror",
    ),
    (
        r"\bresize\s*\(\s*signed\b",
        "a signed value resized to fewer bits loses its sign bit; slice it, and resize only to more",
    ),
    (
        r"\*\s*[0-9]{3,}\b|\b[0-9]{3,}\s*\*",
        "a factor that does not fit the vector is cut; use to_unsigned of a width that holds it",
    ),
    (r"\bshared\s+variable\b", "shared variables are not synthesised alike; use a signal"),
    (
        r"\bport\s+map\s*\(.*\([0-9]+\)\.[a-z_]+\s*=>",
        "records that are connected field by field come out wrong; connect whole signals",
    ),
    (r"(?:<=|:=|=>)\s*(?:'Z'|\(others\s*=>\s*'Z'\))", TRI_STATE),
    (
        r"\bif\s+.*\brising_edge\b.*\band\b",
        "a clock edge with a condition is no register to GHDL; nest the condition",
    ),
];

/// The only place with a bus of several drivers is a board's wrapper, which is not simulated here.
const TRI_STATE: &str = "no tri-state below the board's wrapper";

/// What `5 - s` is where s is signed.
const MINUS: &str = "integer - signed comes out with its sign changed; write to_signed(5, s'length) - s";

/// Functions whose argument may be signed; other names before a bracket are arrays, and an index is an integer.
const VALUES: &[&str] = &[
    "",
    "if",
    "when",
    "and",
    "or",
    "not",
    "abs",
    "resize",
    "signed",
    "unsigned",
    "std_logic_vector",
    "to_integer",
];
/// Functions whose second argument is an integer.
const AMOUNTS: &[&str] = &["shift_left", "shift_right", "to_unsigned", "to_signed"];

/// Whether a number stands before a minus and a name, in a place where that need not be integers.
fn integer_minus_name(code: &str, number: &Regex) -> bool {
    number.find_iter(code).any(|m| {
        let before = code[..m.start()].trim_end();
        let called = |open: usize| {
            let name = before[..open].trim_end();
            let start = name.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |k| k + 1);
            name[start..].to_ascii_lowercase()
        };
        match before.chars().next_back() {
            Some('(') => VALUES.contains(&called(before.len() - 1).as_str()),
            Some(',') => !unclosed(before).is_some_and(|open| AMOUNTS.contains(&called(open).as_str())),
            Some(c) if c.is_ascii_alphanumeric() => before.to_ascii_lowercase().ends_with("return"),
            Some(')' | '-' | '_' | '"' | '\'' | '.' | '/') => false,
            _ => true,
        }
    })
}

/// The last bracket that is open at the end.
fn unclosed(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().rev().find_map(|(k, c)| match c {
        ')' => {
            depth += 1;
            None
        }
        '(' if depth == 0 => Some(k),
        '(' => {
            depth -= 1;
            None
        }
        _ => None,
    })
}

/// A line that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// File.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
    /// What is wrong with it.
    pub message: &'static str,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}\n  {}", self.path.display(), self.line, self.message, self.text.trim())
    }
}

/// Looks at a file's text.
///
/// # Panics
/// Never: the rules compile, which a test shows.
pub fn check(path: &Path, text: &str) -> Vec<Finding> {
    let rules: Vec<_> =
        RULES.iter().map(|(r, m)| (Regex::new(&format!("(?i){r}")).expect("rules compile"), *m)).collect();
    let number = Regex::new(r"(?i)\b[0-9]+\s*-\s*[a-z]").expect("rules compile");
    let mut found = vec![];
    for (n, line) in text.lines().enumerate().filter(|(_, l)| !l.contains(ALLOWED)) {
        let code = line.split("--").next().unwrap_or("");
        if integer_minus_name(code, &number) {
            found.push(Finding { path: path.into(), line: n + 1, text: line.into(), message: MINUS });
        }
        let board = path.components().any(|c| c.as_os_str() == "board");
        let applies = |message: &str| !(board && message == TRI_STATE);
        for (_, message) in rules.iter().filter(|(r, m)| r.is_match(code) && applies(m)) {
            found.push(Finding { path: path.into(), line: n + 1, text: line.into(), message });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::check;
    use std::path::Path;

    fn lines(text: &str) -> usize {
        check(Path::new("x.vhd"), text).len()
    }

    #[test]
    fn each_silent_construct_is_found() {
        for bad in [
            "y <= 5 - s;",
            "y <= resize(5 - s, 8);",
            "return 5 - s;",
            "y <= a + 5 - s;",
            "f(a, 5 - s);",
            "y <= rotate_left(u, n);",
            "y <= resize(signed(a), 4);",
            "y <= u8 * 300;",
            "shared variable m : m_t;",
            "u0 : entity work.e port map (i(0).x => a);",
            "bus_data <= (others => 'Z');",
            "if rising_edge(clk) and en = '1' then",
        ] {
            assert_eq!(lines(bad), 1, "{bad}");
        }
    }

    #[test]
    fn what_is_like_them_is_not() {
        for good in [
            "y <= s - 5;",
            "y <= a(31 downto 0); -- 5 - x",
            "signal s : std_logic_vector(W - 1 downto 0);",
            "y <= 5 - s; -- flow: ok, s is an integer",
            "y <= a(27 - n) & shift_right(b(3 downto 0), 133 - e);",
            "y <= a - 5 - s;",
            "y <= resize(u8, 10);",
            "u0 : entity work.e port map (i => p);",
            "if rising_edge(clk) then",
        ] {
            assert_eq!(lines(good), 0, "{good}");
        }
    }
}
