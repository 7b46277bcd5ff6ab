//! `--stats`: what a run took here, and what it would take on the hardware.

use ssnail_sim::stats::Stats;
use std::fmt;
use std::time::Duration;

/// Figures of one run.
pub(super) struct RunStats<'a> {
    /// Counts of the run.
    pub(super) stats: &'a Stats,
    /// Positions that were processed.
    pub(super) positions: u32,
    /// Tokens before the first one that was published, and the time until then.
    pub(super) prompt: (u32, Duration),
    /// Tokens published after the first one, and the time for them.
    pub(super) generated: (u32, Duration),
    /// RAM bandwidth of the hardware, in bytes a second.
    pub(super) bandwidth: f64,
}

impl fmt::Display for RunStats<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let positions = f64::from(self.positions.max(1));
        let mb = |bytes: u64| bytes as f64 / positions / 1e6;
        let instructions = self.stats.instructions();
        writeln!(f, "instructions  {instructions}, {:.0} a token", instructions as f64 / positions)?;
        write!(f, "             ")?;
        let mut kinds: Vec<_> = self.stats.by_opcode().collect();
        kinds.sort_by_key(|&(op, n)| (std::cmp::Reverse(n), op));
        kinds.iter().try_for_each(|(op, n)| write!(f, " {op} {n}"))?;
        let (traffic, read, written) =
            (self.stats.traffic(), self.stats.bytes_read, self.stats.bytes_written);
        writeln!(
            f,
            "\nRAM traffic   {:.3} MB a token, instruction words included: operands read {:.3}, written {:.3}",
            mb(traffic),
            mb(read),
            mb(written)
        )?;
        write!(f, "here          ")?;
        let rate = |(tokens, time): (u32, Duration)| f64::from(tokens) / time.as_secs_f64().max(1e-9);
        write!(f, "{:.1} tokens/s in the prompt ({})", rate(self.prompt), self.prompt.0)?;
        if self.generated.0 > 0 {
            write!(f, ", {:.1} tokens/s after it ({})", rate(self.generated), self.generated.0)?;
        }
        let seconds = traffic as f64 / self.bandwidth;
        let expected = if seconds > 0.0 { f64::from(self.positions) / seconds } else { 0.0 };
        writeln!(
            f,
            "\nexpected      {expected:.1} tokens/s on hardware with {:.0} MB/s, {seconds:.2} s for this run",
            self.bandwidth / 1e6
        )
    }
}
