//! Objects: what an image holds or reserves, by name.

use ssnail_isa::Format;
use ssnail_isa::check::AttnBlock;
use std::collections::HashMap;

/// What a matrix is for, which decides its format under some weight types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The token embedding; where it is tied, also the classifier.
    Embedding,
    /// A classifier of its own.
    Classifier,
    /// Part of a layer.
    Layer,
}

/// What an object consists of.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A weight matrix: the tensor of the object's name in one of the hardware's formats.
    Matrix {
        /// Elements of a row.
        cols: u32,
        /// Rows.
        rows: u32,
        /// Use.
        role: Role,
    },
    /// F32 elements: these tensors one after the other, each cut to `len`.
    Floats {
        /// The tensors.
        tensors: Vec<String>,
        /// Elements of each.
        len: u64,
    },
    /// Bytes made by the converter.
    Bytes(Vec<u8>),
    /// The parameters of an ATTN; its caches are the objects of these names.
    Attention {
        /// Everything but the addresses.
        params: AttnBlock,
        /// The K cache.
        k: String,
        /// The V cache.
        v: String,
    },
    /// Memory that the script uses.
    Scratch {
        /// Bytes.
        bytes: u64,
    },
}

/// An object without a place.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// Unique name; matrices and vectors have the name of their tensor.
    pub name: String,
    /// What it consists of.
    pub content: Content,
}

impl Object {
    /// An object.
    pub fn new(name: impl Into<String>, content: Content) -> Self {
        Object { name: name.into(), content }
    }

    /// A weight matrix.
    pub fn matrix(tensor: impl Into<String>, cols: u32, rows: u32, role: Role) -> Self {
        Self::new(tensor, Content::Matrix { cols, rows, role })
    }

    /// A tensor of `len` F32.
    pub fn vector(tensor: impl Into<String>, len: u32) -> Self {
        let name = tensor.into();
        Self::new(name.clone(), Content::Floats { tensors: vec![name], len: u64::from(len) })
    }

    /// The first `rows` rows of a tensor as F32.
    pub fn rows(tensor: impl Into<String>, cols: u32, rows: u32) -> Self {
        let name = tensor.into();
        Self::new(
            name.clone(),
            Content::Floats { tensors: vec![name], len: u64::from(cols) * u64::from(rows) },
        )
    }

    /// The gain of a norm followed by its bias, as LAYERNORM wants them.
    pub fn norm(name: impl Into<String>, len: u32) -> Self {
        let name = name.into();
        let tensors = vec![format!("{name}.weight"), format!("{name}.bias")];
        Self::new(name, Content::Floats { tensors, len: u64::from(len) })
    }

    /// Scratch memory.
    pub fn scratch(name: impl Into<String>, bytes: u64) -> Self {
        Self::new(name, Content::Scratch { bytes })
    }
}

/// All objects of an image.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Objects {
    /// Those in the file, in the order of their addresses.
    pub payload: Vec<Object>,
    /// Those that are only reserved, in the order of their addresses.
    pub scratch: Vec<Object>,
}

/// An object with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// What it is.
    pub object: Object,
    /// Address of its first byte.
    pub addr: u32,
    /// Bytes.
    pub bytes: u64,
    /// Format, for matrices.
    pub format: Option<Format>,
}

/// A placed matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedMatrix {
    /// First byte.
    pub addr: u32,
    /// Elements of a row.
    pub cols: u32,
    /// Rows.
    pub rows: u32,
    /// Format of the weights.
    pub format: Format,
}

impl PlacedMatrix {
    /// Bytes from one row to the next.
    pub fn row_bytes(&self) -> u32 {
        self.format.row_bytes(u64::from(self.cols)) as u32 // a row has at most 2^20 elements
    }
}

/// Addresses by name.
#[derive(Debug, Clone, Default)]
pub struct Places {
    addrs: HashMap<String, u32>,
    matrices: HashMap<String, PlacedMatrix>,
}

impl Places {
    /// The places of these objects.
    pub fn new<'a>(objects: impl Iterator<Item = &'a Placed>) -> Self {
        let mut places = Places::default();
        for p in objects {
            places.addrs.insert(p.object.name.clone(), p.addr);
            if let (Content::Matrix { cols, rows, .. }, Some(format)) = (&p.object.content, p.format) {
                let m = PlacedMatrix { addr: p.addr, cols: *cols, rows: *rows, format };
                places.matrices.insert(p.object.name.clone(), m);
            }
        }
        places
    }

    /// The address of an object.
    ///
    /// # Panics
    /// When there is none of that name: an architecture used an object that it did not ask for.
    pub fn addr(&self, name: &str) -> u32 {
        *self.addrs.get(name).unwrap_or_else(|| panic!("no object `{name}`"))
    }

    /// A matrix.
    ///
    /// # Panics
    /// As [`addr`](Self::addr).
    pub fn matrix(&self, name: &str) -> PlacedMatrix {
        *self.matrices.get(name).unwrap_or_else(|| panic!("no matrix `{name}`"))
    }
}
