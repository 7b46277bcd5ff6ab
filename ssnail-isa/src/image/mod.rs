//! The memory image: where things lie, what the header says, and the check of a whole file.
//!
//! A file is the 256-byte header, then the payload, which loads at [`layout::PAYLOAD`]. Everything is little-endian.

mod fields;
pub mod header;
pub mod layout;
pub mod runtime;
pub mod tokenizer;
mod view;

pub use fields::FieldInfo;
pub use header::{Architecture, Header};
pub use runtime::{RuntimeBlock, StopReason};
pub use tokenizer::{PreSplit, TokenizerBlock, TokenizerKind};
pub use view::{Image, ImageError};

/// Stands for "no token" wherever a token id is stored.
pub const NO_TOKEN: u32 = u32::MAX;
