//! The rules of a port, looked at at every edge. A violation is told with the cycle and the command.

use super::{BURST, Command, FromMaster, FromPort, op};
use std::collections::VecDeque;

/// Cycles within which a master that was reset stops asking: reset comes from the CPU's clock.
const QUIET_AFTER: u64 = 32;

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{port} port, cycle {cycle}: {rule}, command {command:X?}")]
pub struct Violation {
    /// Name of the port.
    pub port: &'static str,
    /// Edge, from 0.
    pub cycle: u64,
    /// The rule.
    pub rule: &'static str,
    /// The command that it is about.
    pub command: Option<Command>,
}

/// The checker of one port.
#[derive(Debug)]
pub struct Checker {
    port: &'static str,
    /// Bytes of the RAM; 0 for one that is not there.
    size: u32,
    cycle: u64,
    /// A command that was shown and not yet accepted.
    shown: Option<Command>,
    /// Accepted commands with the words that are still to come.
    outstanding: VecDeque<(Command, u32)>,
    /// Since when nothing may be asked for, after reset.
    quiet_since: Option<u64>,
}

impl Checker {
    /// A checker for a RAM of so many bytes.
    pub fn new(port: &'static str, size: u32) -> Self {
        Checker { port, size, cycle: 0, shown: None, outstanding: VecDeque::new(), quiet_since: Some(0) }
    }

    /// From now on the CPU has asked for nothing: reset.
    pub fn reset(&mut self) {
        self.quiet_since = Some(self.cycle);
    }

    /// From now on the CPU has asked for something.
    pub fn asked(&mut self) {
        self.quiet_since = None;
    }

    /// Looks at both sides of an edge.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn edge(&mut self, master: FromMaster, port: FromPort) -> Result<(), Violation> {
        let cycle = self.cycle;
        self.cycle += 1;
        let name = self.port;
        let broken = |rule, command| Err(Violation { port: name, cycle, rule, command });
        let waits = self.shown.is_some() && master.command == self.shown;
        if let (Some(old), None, false) = (self.shown, self.quiet_since, waits) {
            return broken("a command was changed or dropped before it was accepted", Some(old));
        }
        if let Some(c) = master.command {
            // One that waits since before may go on waiting.
            if !waits && self.quiet_since.is_some_and(|since| cycle > since + QUIET_AFTER) {
                return broken("a command after reset that nobody asked for", Some(c));
            }
            if let Some(rule) = self.illegal(c) {
                return broken(rule, Some(c));
            }
        }
        self.shown = master.command.filter(|_| !port.cmd_ready);
        if let (true, Some(c)) = (port.cmd_ready, master.command) {
            let words = if c.op == op::INVALIDATE { 0 } else { c.len / 2 };
            self.outstanding.push_back((c, words));
        }
        // The rest is about the port: the model's own rules.
        let oldest = self.outstanding.front_mut();
        if port.rdata.is_some() || port.wdata_req {
            let wanted = if port.wdata_req { op::WRITE } else { op::READ };
            match oldest {
                Some((c, words)) if c.op == wanted && *words > 0 => *words -= 1,
                other => return broken("a word or request that no command asked for", other.map(|o| o.0)),
            }
        }
        if port.cmd_done {
            match self.outstanding.pop_front() {
                Some((_, 0)) => {}
                other => return broken("cmd_done before the last word", other.map(|o| o.0)),
            }
        }
        Ok(())
    }

    /// Commands accepted and not done.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    fn illegal(&self, c: Command) -> Option<&'static str> {
        if c.op == op::INVALIDATE {
            return (self.size == 0).then_some("a command to a RAM that is not there");
        }
        let rules = [
            (c.op > op::INVALIDATE, "unknown command"),
            (!c.addr.is_multiple_of(8), "the address is no multiple of 8"),
            (
                !c.len.is_multiple_of(8) || c.len == 0 || c.len > BURST,
                "the length is no multiple of 8 from 8 to 256",
            ),
            (c.addr % BURST + c.len > BURST, "the burst crosses a multiple of 256"),
            (
                u64::from(c.addr) + u64::from(c.len) > u64::from(self.size),
                "the burst does not lie in the RAM",
            ),
        ];
        rules.iter().find(|(broken, _)| *broken).map(|(_, rule)| *rule)
    }
}
