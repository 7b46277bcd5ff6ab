//! Streams of cases through one unit, with gaps, at full speed and back again: every result is compared, the latency is
//! that of `ssnail_fp_pkg`, and the first clocks are replayed on the VHDL in GHDL's simulator.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::path::PathBuf;
use testbench::build::{self, Design, Options, Tools};
use testbench::model::{Model, Port, replay};

/// Clocks that are replayed in GHDL.
const REPLAYED: u64 = 3000;

/// `n` cases, ten times as many with `SSNAIL_UNIT_CASES=long`.
pub(crate) fn cases(n: usize) -> usize {
    if std::env::var("SSNAIL_UNIT_CASES").is_ok_and(|v| v == "long") { 10 * n } else { n }
}

/// A constant of `ssnail_fp_pkg`, which the RTL's users are written against.
pub(crate) fn latency(name: &str) -> usize {
    let text = std::fs::read_to_string(build::repository().join("hdl/pkg/ssnail_fp_pkg.vhd")).unwrap();
    let line = text.lines().find(|l| l.trim_start().starts_with(&format!("constant {name} "))).unwrap();
    let expression = line.split(":=").nth(1).unwrap().split(';').next().unwrap();
    expression
        .split('+')
        .map(|term| {
            term.split('*')
                .map(str::trim)
                .map(|f| f.parse().unwrap_or_else(|_| latency(f)))
                .product::<usize>()
        })
        .sum()
}

/// A unit under test.
pub(crate) struct Unit {
    tools: Tools,
    pub(crate) model: Model,
    pub(crate) random: Pcg64Mcg,
    recording: Option<(tempfile::TempDir, u64)>,
}

impl Unit {
    /// Builds the entity and resets it; `None`, with a message, where the HDL tools are missing.
    pub(crate) fn new(top: &str) -> Option<Self> {
        let tools = Tools::or_skip(top)?;
        let design = Design::hdl(top).unwrap();
        let library = build::build(&tools, &design, Options::UNIT).unwrap_or_else(|e| panic!("{e}"));
        let mut model = Model::new(&library);
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join("recording");
        model.record(path).unwrap();
        let mut unit =
            Unit { tools, model, random: Pcg64Mcg::seed_from_u64(0x55), recording: Some((folder, REPLAYED)) };
        unit.reset();
        Some(unit)
    }

    /// Resets the unit in the middle of other operations, of which nothing may be seen afterwards.
    fn reset(&mut self) {
        let [reset, valid] = ["reset", "in_valid"].map(|p| self.model.port(p));
        for port in ["a", "b", "x"].into_iter().filter_map(|p| self.model.find(p)).collect::<Vec<_>>() {
            self.model.set(port, 0x3F9A);
        }
        self.model.set(valid, 1);
        (0..75).for_each(|_| self.tick());
        self.model.set(valid, 0);
        self.model.set(reset, 1);
        self.tick();
        self.tick();
        self.model.set(reset, 0);
    }

    /// One clock; after the last recorded one the recording is replayed.
    pub(crate) fn tick(&mut self) {
        self.model.tick();
        if let Some((_, left)) = &mut self.recording {
            *left -= 1;
            if *left == 0 {
                self.replay();
            }
        }
    }

    pub(crate) fn replay(&mut self) {
        let Some((_folder, _)) = self.recording.take() else { return };
        let recorded = self.model.end_record().unwrap().unwrap();
        let said = replay(&self.tools, &recorded).unwrap_or_else(|e| panic!("{e}"));
        println!("GHDL: {said}");
    }

    /// Runs a unit that takes an operation each clock: first without gaps, then with.
    pub(crate) fn pipelined<I, O>(
        &mut self,
        latency: usize,
        cases: impl Iterator<Item = (I, O)>,
        drive: impl Fn(&mut Model, I),
        result: impl Fn(&Model) -> O,
    ) where
        I: Copy + Debug,
        O: Copy + PartialEq + Debug,
    {
        let [valid, out_valid] = ["in_valid", "out_valid"].map(|p| self.model.port(p));
        let mut due: VecDeque<Option<(I, O)>> = VecDeque::from(vec![None; latency - 1]);
        let (mut done, mut clock) = (0u64, 0u64);
        let mut cases = cases.peekable();
        while cases.peek().is_some() || due.iter().any(Option::is_some) {
            clock += 1;
            let gap = clock & 0x1000 != 0 && self.random.next_u64().is_multiple_of(3);
            let case = if gap { None } else { cases.next() };
            self.model.set(valid, u64::from(case.is_some()));
            if let Some((input, _)) = case {
                drive(&mut self.model, input);
            }
            due.push_back(case);
            self.tick();
            let expected = due.pop_front().unwrap();
            assert_eq!(self.model.is_set(out_valid), expected.is_some(), "out_valid at clock {clock}");
            if let Some((input, want)) = expected {
                let got = result(&self.model);
                assert!(got == want, "{input:X?}: got {got:X?}, want {want:X?}");
                done += 1;
            }
        }
        self.replay();
        println!("{done} results, {clock} clocks");
    }

    /// Runs a unit that says when it is ready. Gives clocks from one operation to the next where there is no gap.
    pub(crate) fn iterative<I, O>(
        &mut self,
        cases: impl Iterator<Item = (I, O)>,
        drive: impl Fn(&mut Model, I),
        result: impl Fn(&Model) -> O,
    ) -> u64
    where
        I: Copy + Debug,
        O: Copy + PartialEq + Debug,
    {
        let [valid, ready, out_valid]: [Port; 3] =
            ["in_valid", "in_ready", "out_valid"].map(|p| self.model.port(p));
        let mut due: VecDeque<(I, O)> = VecDeque::new();
        let (mut done, mut clock, mut last, mut interval) = (0u64, 0u64, 0u64, 0u64);
        let mut cases = cases.peekable();
        while cases.peek().is_some() || !due.is_empty() {
            clock += 1;
            let wanted = cases.peek().is_some() && (done < 100 || !self.random.next_u64().is_multiple_of(64));
            self.model.set(valid, u64::from(wanted));
            if wanted {
                drive(&mut self.model, cases.peek().unwrap().0);
                if self.model.is_set(ready) {
                    due.extend(cases.next());
                    interval = if done < 100 { interval.max(clock - last) } else { interval };
                    last = clock;
                }
            }
            self.tick();
            if self.model.is_set(out_valid) {
                let (input, want) = due.pop_front().expect("an operation for each result");
                let got = result(&self.model);
                assert!(got == want, "{input:X?}: got {got:X?}, want {want:X?}");
                done += 1;
            }
            assert!(clock - last < 10_000, "no result for 10,000 clocks");
        }
        self.replay();
        println!("{done} results, {clock} clocks, {interval} clocks an operation");
        interval
    }
}
