//! One RAM behind its port. Commands are served in order, one at a time; two may wait or be served.

use super::timing::Timing;
use super::{Command, FromMaster, FromPort, op};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;

/// Commands that the port takes before it has answered one.
const QUEUE: usize = 2;
/// Edges from a request for data to the edge that samples it.
const REQUEST_TO_DATA: usize = 2;
/// Cycles that an INVALIDATE takes.
const INVALIDATE: u64 = 4;
/// Bytes of a row, and banks.
const ROW: u32 = 2048;
const BANKS: u32 = 4;

/// A byte that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Byte address inside the RAM.
    pub addr: u32,
    /// The byte.
    pub value: u8,
}

/// The command that is being served.
#[derive(Debug)]
struct Service {
    command: Command,
    /// Cycle of the next word, request or of the end.
    next: u64,
    /// Words delivered, or asked for.
    words: u32,
    /// Words of a write that have been sampled.
    sampled: u32,
    /// Word after which the read error is told; `None` for a good read.
    error_at: Option<u32>,
}

/// A RAM.
#[derive(Debug)]
pub struct Ram {
    bytes: Vec<u8>,
    timing: Timing,
    random: Pcg64Mcg,
    cycle: u64,
    waiting: VecDeque<(Command, u64)>,
    service: Option<Service>,
    /// Cycle of the last word of the burst before.
    last_word: Option<u64>,
    open_rows: [Option<u32>; BANKS as usize],
    next_refresh: u64,
    /// Whether a request is 1, 2 edges old.
    requests: [bool; REQUEST_TO_DATA],
    out: FromPort,
    written: Vec<Written>,
    /// Bytes that reads delivered.
    pub bytes_read: u64,
    /// Bytes that writes changed.
    pub bytes_written: u64,
    /// INVALIDATE commands done.
    pub invalidates: u64,
    /// Reads that timed out.
    pub errors: u64,
}

impl Ram {
    /// A RAM of so many bytes, all 0.
    pub fn new(size: usize, timing: Timing, seed: u64) -> Self {
        Ram {
            bytes: vec![0; size],
            timing,
            random: Pcg64Mcg::seed_from_u64(seed),
            cycle: 0,
            waiting: VecDeque::new(),
            service: None,
            last_word: None,
            open_rows: [None; BANKS as usize],
            next_refresh: timing.refresh_every,
            requests: [false; REQUEST_TO_DATA],
            out: FromPort { cmd_ready: true, idle: true, ..FromPort::default() },
            written: vec![],
            bytes_read: 0,
            bytes_written: 0,
            invalidates: 0,
            errors: 0,
        }
    }

    /// The contents.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The contents, for the CPU's own way into RAM.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Bytes written through the port since this was last asked, in order.
    pub fn take_written(&mut self) -> std::vec::Drain<'_, Written> {
        self.written.drain(..)
    }

    /// What the port drives now.
    pub fn out(&self) -> FromPort {
        self.out
    }

    fn one_in(&mut self, n: u32) -> bool {
        n > 0 && self.random.next_u32().is_multiple_of(n)
    }

    fn percent(&mut self, p: u32) -> bool {
        p > 0 && self.random.next_u32() % 100 < p
    }

    fn up_to(&mut self, n: u32) -> u64 {
        u64::from(self.random.next_u32() % n)
    }

    /// One clock edge; `master` is what it drove before the edge.
    pub fn edge(&mut self, master: FromMaster) {
        self.cycle += 1;
        let mut out = FromPort::default();
        if let (true, Some(command)) = (self.out.cmd_ready, master.command) {
            // Edges are counted from 0, and this is the one before `self.cycle`.
            self.waiting.push_back((command, self.cycle - 1));
        }
        if self.requests[REQUEST_TO_DATA - 1] {
            self.sample(master);
        }
        self.start();
        self.serve(&mut out);
        self.requests.rotate_right(1);
        self.requests[0] = out.wdata_req;
        let outstanding = self.waiting.len() + usize::from(self.service.is_some());
        out.cmd_ready = outstanding < QUEUE && !self.percent(self.timing.stalls);
        out.idle = outstanding == 0 && !out.cmd_done;
        self.out = out;
    }

    /// Takes the word that was asked for two edges ago.
    fn sample(&mut self, master: FromMaster) {
        let Some(s) = &mut self.service else { return };
        let at = s.command.addr + 2 * s.sampled;
        s.sampled += 1;
        for (k, value) in master.wdata.to_le_bytes().into_iter().enumerate() {
            let addr = at + k as u32;
            if master.wdata_be >> k & 1 == 1
                && let Some(byte) = self.bytes.get_mut(addr as usize)
            {
                *byte = value;
                self.bytes_written += 1;
                self.written.push(Written { addr, value });
            }
        }
    }

    /// Begins the oldest command that waits when none is served.
    fn start(&mut self) {
        if self.service.is_some() {
            return;
        }
        let Some((command, accepted)) = self.waiting.pop_front() else { return };
        let t = self.timing;
        let mut next = accepted + u64::from(t.latency);
        if command.op == op::INVALIDATE {
            next = self.cycle + INVALIDATE;
        } else {
            next = next.max(self.last_word.map_or(0, |last| last + 1 + u64::from(t.gap))).max(self.cycle + 1);
            let row = command.addr / ROW;
            let bank = (row % BANKS) as usize;
            if t.row > 0 && self.open_rows[bank].replace(row) != Some(row) {
                next += u64::from(t.row);
            }
            if t.refresh_every > 0 && next >= self.next_refresh {
                next += u64::from(t.refresh);
                self.next_refresh += t.refresh_every * (1 + (next - self.next_refresh) / t.refresh_every);
            }
            if self.one_in(t.collision_in) {
                next += u64::from(t.collision);
            }
            if self.percent(t.stalls) {
                next += self.up_to(40);
            }
            if self.percent(t.contention) {
                next += 20 + self.up_to(140);
            }
        }
        let error_at = (command.op == op::READ && self.one_in(t.error_in))
            .then(|| self.random.next_u32() % (command.len / 2).max(1));
        self.service = Some(Service { command, next, words: 0, sampled: 0, error_at });
    }

    fn serve(&mut self, out: &mut FromPort) {
        let Some(s) = &mut self.service else { return };
        if self.cycle < s.next {
            return;
        }
        let words = s.command.len / 2;
        let ended = match s.command.op {
            op::READ if s.words < words => {
                let at = (s.command.addr + 2 * s.words) as usize;
                let byte = |k: usize| self.bytes.get(at + k).copied().unwrap_or(0);
                let mut word = u16::from_le_bytes([byte(0), byte(1)]);
                if s.error_at.is_some_and(|e| s.words >= e) {
                    out.error = s.error_at == Some(s.words);
                    self.errors += u64::from(out.error);
                    // A word that never came.
                    word ^= 0xA5A5;
                }
                out.rdata = Some(word);
                self.bytes_read += 2;
                s.words += 1;
                false
            }
            op::WRITE if s.words < words => {
                out.wdata_req = true;
                s.words += 1;
                false
            }
            op::WRITE => s.sampled == words,
            _ => true,
        };
        if ended {
            out.cmd_done = true;
            self.invalidates += u64::from(s.command.op == op::INVALIDATE);
            self.service = None;
            return;
        }
        self.last_word = Some(self.cycle);
        s.next = self.cycle + u64::from(self.timing.word);
        if s.words == words {
            s.next = self.cycle + 1;
        }
        if self.percent(self.timing.stalls) {
            let extra = 1 + self.up_to(6);
            if let Some(s) = &mut self.service {
                s.next += extra;
            }
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
