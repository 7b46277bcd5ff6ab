//! An image into a machine, through the load port and nothing else, in the steps of the MEGA65's loader.

use crate::machine::Machine;
use ssnail_isa::image::Image;
use ssnail_isa::map::RAM_BASE;
use ssnail_isa::port::{bit, reg};

/// Bytes of a sector of the file.
const SECTOR: usize = 512;

/// Why an image did not get into RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The port was not ready for a sector.
    #[error("load port not ready at file offset {offset:#X}: a job is running")]
    NotReady {
        /// The sector's offset in the file.
        offset: usize,
    },
    /// Some of the image lies where the board has no RAM.
    #[error("the image has {bytes} bytes and does not fit the RAM of this board")]
    OutsideRam {
        /// Bytes of the file.
        bytes: usize,
    },
}

/// Loads an image as the MEGA65 does.
///
/// # Errors
/// When a job runs, or when the port has seen data outside RAM.
pub fn load(machine: &mut Machine, image: &Image<'_>) -> Result<(), LoadError> {
    let file = image.bytes();
    commit(machine, RAM_BASE, bit::LOAD_ERROR);
    for (n, sector) in file.chunks(SECTOR).enumerate() {
        if !ready(machine) {
            return Err(LoadError::NotReady { offset: n * SECTOR });
        }
        let payload = if n == 0 {
            let (header, payload) =
                sector.split_at(sector.len().min(ssnail_isa::image::layout::HEADER_BYTES as usize));
            machine.write_load_data(header);
            commit(machine, image.header().payload, 0);
            payload
        } else {
            sector
        };
        machine.write_load_data(payload);
    }
    commit(machine, RAM_BASE, 0);
    if !ready(machine) {
        return Err(LoadError::NotReady { offset: file.len() });
    }
    if machine.read_register(reg::LOAD_COMMIT) & bit::LOAD_ERROR != 0 {
        return Err(LoadError::OutsideRam { bytes: file.len() });
    }
    Ok(())
}

/// Sets the pointer and commits it.
fn commit(machine: &mut Machine, addr: u32, flags: u8) {
    let [b0, b1, b2, b3] = addr.to_le_bytes();
    for (offset, byte) in (reg::LOAD_POINTER..).zip([b0, b1, b2]) {
        machine.write_register(offset, byte);
    }
    machine.write_register(reg::LOAD_COMMIT, b3 | flags);
}

fn ready(machine: &Machine) -> bool {
    machine.read_register(reg::LOAD_COMMIT) & bit::LOAD_READY != 0
}
