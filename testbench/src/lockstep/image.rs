//! An image in lockstep, driven as MEGA65 software does.

use super::{End, Lockstep, Stop};
use crate::chip::Trouble;
use ssnail_isa::Opcode;
use ssnail_isa::image::runtime::addr;
use ssnail_isa::image::{Header, Image};
use ssnail_isa::map::RAM_BASE;
use std::collections::BTreeMap;

/// Bytes that lie in one region wherever an image has them.
const BLOCK: usize = 256;

/// What a run was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Instructions that were the same.
    pub instructions: u64,
    /// Bytes written that were the same.
    pub bytes: u64,
    /// Cycles since power-on.
    pub cycles: u64,
    /// Cycles from GO to the end.
    pub job_cycles: u64,
    /// Prompt and what was generated, from the chip's RAM.
    pub tokens: Vec<u32>,
    /// The script's reason to stop, from the chip's RAM.
    pub reason: u32,
    /// How the job ended.
    pub end: End,
    /// Instructions and cycles by kind.
    pub by_instruction: BTreeMap<Opcode, (u64, u64)>,
}

/// Loads an image: through the load port, with sectors and READY, or straight into RAM.
///
/// # Errors
/// When READY does not come, or RAM then holds something else.
pub fn load(lock: &mut Lockstep, image: &Image<'_>, through_port: bool) -> Result<(), Stop> {
    let payload = image.header().payload;
    let header = &image.bytes()[..image.bytes().len() - image.payload().len()];
    let blocks = || {
        let parts = (payload..).step_by(BLOCK).zip(image.payload().chunks(BLOCK));
        std::iter::once((RAM_BASE, header)).chain(parts)
    };
    if through_port {
        lock.chip(|chip| {
            chip.load(image)?;
            let cycle = chip.cycle_number();
            let written = chip.take_written().len();
            let same = blocks().all(|(at, bytes)| chip.ram(at, bytes.len() as u32) == bytes);
            if same && written == image.bytes().len() { Ok(()) } else { Err(Trouble::Load { cycle }) }
        })?;
    }
    for (at, bytes) in blocks() {
        lock.write_ram(at, bytes);
    }
    Ok(())
}

/// Writes prompt and runtime block, runs the script to its end; `at_sync` is called at each SYNC.
///
/// # Errors
/// The first difference, and what the chip ran into.
pub fn run(
    lock: &mut Lockstep,
    header: &Header,
    prompt: &[u32],
    n: u32,
    at_sync: impl FnMut(&mut Lockstep),
) -> Result<Summary, Stop> {
    let words = prompt.iter().flat_map(|t| t.to_le_bytes()).collect::<Vec<u8>>();
    lock.write_ram(header.tokens, &words);
    let length = prompt.len() as u32;
    for (at, value) in [(addr::POS, 0), (addr::PROMPT_LEN, length), (addr::N_GENERATE, n)] {
        lock.write_ram(at, &value.to_le_bytes());
    }
    let before = lock.chip.cycle_number();
    let end = lock.job_with(header.script, at_sync)?;
    let read = |at: u32| u32::from_le_bytes(lock.chip.ram(at, 4).try_into().expect("four bytes"));
    let total = length + read(addr::GENERATED).min(n);
    Ok(Summary {
        instructions: lock.compare.instructions,
        bytes: lock.compare.bytes,
        cycles: lock.chip.cycle_number(),
        job_cycles: lock.chip.cycle_number() - before,
        tokens: (0..total).map(|k| read(header.tokens + 4 * k)).collect(),
        reason: read(addr::STOP_REASON),
        end,
        by_instruction: lock.compare.cycles.clone(),
    })
}
