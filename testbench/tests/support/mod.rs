//! Chips for tests.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::sync::Arc;
use testbench::build::design::hdl;
use testbench::build::{Options, Tools};
use testbench::chip::{self, Chip, Config};
use testbench::lockstep::Lockstep;
use testbench::memory::Memory;
use testbench::model::Library;
use testbench::programs::data;

/// The chip's model; `None`, with a word on stderr, where there is no chip or no tool to build it.
pub fn library(memory: Memory) -> Option<Arc<Library>> {
    if !hdl().join("core/ssnail_chip.vhd").is_file() {
        eprintln!("skipped: hdl/core/ssnail_chip.vhd is not there");
        return None;
    }
    let tools = Tools::or_skip("chip")?;
    Some(chip::library(&tools, memory, Options::CHIP).unwrap_or_else(|e| panic!("{e}")))
}

pub fn config(memory: Memory, seed: u64) -> Config {
    Config { memory, seed, waves: None }
}

pub fn chip(memory: Memory, seed: u64) -> Option<Chip> {
    Some(Chip::new(&library(memory)?, &config(memory, seed)).unwrap())
}

/// Chip and emulator with floats in their windows.
pub fn lockstep(memory: Memory, seed: u64) -> Option<Lockstep> {
    let mut lock = Lockstep::new(&library(memory)?, &config(memory, seed)).unwrap();
    for (addr, bytes) in data::contents(&lock.chip.map(), seed) {
        lock.write_ram(addr, &bytes);
    }
    Some(lock)
}
