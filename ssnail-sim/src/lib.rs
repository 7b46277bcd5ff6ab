//! Runs a SSNAIL memory image as the hardware would: RAM of a board, the registers that the CPU sees, the load port as
//! the only way in, precise faults, and numerics chosen at run time.
//!
//! | module | what lives there |
//! |---|---|
//! | [`memory`] | the RAM of a board, by regions, and what the CPU sees of it |
//! | [`load_port`] | the load port: ring, commits, flushes, sticky error |
//! | [`port`] | the CPU's registers |
//! | [`machine`] | [`Machine`]: registers, memory and numerics; steps and runs |
//! | [`observe`] | what an observer of each instruction sees, and the trace record of it |
//! | [`report`] | what went wrong, for people |
//! | `execute`, `scalar` | what vector instructions compute; all other effects |
//! | [`ahead`] | turns of a loop side by side |
//! | `share` | rows of a product among threads |
//! | `repack`, `watch` | copies of weights for the kernels; writes where a copy was made |
//! | [`stats`] | counts of instructions and RAM traffic |
//! | [`numerics`] | the arithmetic that a machine is given |
//! | [`float`] | numerics as the model means them |
//! | [`hardware`] | numerics as the datapath computes, to the bit |
//! | [`loader`] | an image into a machine, as the MEGA65 does it |
//! | [`session`] | prompts, generation and embeddings |
//! | [`compare`](mod@compare) | what one arithmetic costs against another |
//! | [`sampler`] | picking a token from logits on the host |
//! | [`stream`] | token bytes to text as they come |

// Operands are read in place as F32, F16 and u32.
#[cfg(target_endian = "big")]
compile_error!("SSNAIL memory is little-endian and so must the host be");

pub mod ahead;
pub mod compare;
pub mod float;
pub mod hardware;
pub mod load_port;
pub mod loader;
pub mod machine;
pub mod memory;
pub mod numerics;
pub mod observe;
pub mod port;
pub mod report;
pub mod sampler;
pub mod session;
pub mod stats;
pub mod stream;

mod execute;
mod repack;
mod scalar;
mod share;
mod watch;

pub use float::Float;
pub use hardware::Hardware;
pub use machine::Machine;
pub use memory::Memory;
pub use numerics::Numerics;
pub use session::Session;

#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
