//! VHDL that GHDL 2.0.0 synthesises to something else than it simulates, as far as a line of text shows it. A line that
//! only looks like it says so: `-- flow: ok` and why.

use regex::Regex;
use std::path::{Path, PathBuf};

/// A comment with which a line is let through.
const ALLOWED: &str = "-- flow: ok";

/// What must not be written, and what to write instead.
const RULES: &[(&str, &str)] = &[
    (
        r"(?:^|[=(,:+&*<>]|\breturn\b)\s*[0-9]+\s*-\s*[a-z]",
        "integer - signed comes out with its sign changed; write to_signed(5, s'length) - s",
    ),
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
    (r"(?:<=|:=|=>)\s*(?:'Z'|\(others\s*=>\s*'Z'\))", "no tri-state below the board's wrapper"),
    (
        r"\bif\s+.*\brising_edge\b.*\band\b",
        "a clock edge with a condition is no register to GHDL; nest the condition",
    ),
];

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
    let mut found = vec![];
    for (n, line) in text.lines().enumerate().filter(|(_, l)| !l.contains(ALLOWED)) {
        let code = line.split("--").next().unwrap_or("");
        for (_, message) in rules.iter().filter(|(r, _)| r.is_match(code)) {
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
            "y <= resize(u8, 10);",
            "u0 : entity work.e port map (i => p);",
            "if rising_edge(clk) then",
        ] {
            assert_eq!(lines(good), 0, "{good}");
        }
    }
}
