//! A sound model taken apart, to be put together again with one thing wrong.

use ssnail_convert::gguf::{ArrayBuf, Element, Gguf, GgufWriter, Value};
use ssnail_convert::synth::{MIN_VOCAB, SynthModel, SynthRope};
use ssnail_isa::image::Architecture;

/// A model with every option that its family has.
pub(crate) fn model(arch: Architecture) -> SynthModel {
    SynthModel {
        vocab: MIN_VOCAB,
        tied: false,
        qkv_biases: true,
        output_bias: true,
        rope: SynthRope {
            freq_base: Some(10000.0),
            dimension_count: Some(8),
            linear_factor: Some(2.0),
            factors: true,
        },
        ..SynthModel::tiny(arch)
    }
}

#[derive(Clone)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) type_number: u32,
    pub(crate) dims: Vec<u64>,
    data: Vec<u8>,
}

/// The parts of a file, in order.
#[derive(Clone)]
pub(crate) struct Draft {
    meta: Vec<(String, Value<'static>)>,
    pub(crate) tensors: Vec<Tensor>,
}

impl Draft {
    /// The parts of [`model`].
    pub(crate) fn new(arch: Architecture) -> Self {
        // Values point into the file; the few files of a test run may stay.
        let gguf: &'static Gguf =
            Box::leak(Box::new(Gguf::from_bytes(model(arch).to_gguf().to_bytes()).unwrap()));
        let tensors = gguf.tensors().iter().map(|t| Tensor {
            name: t.name.clone(),
            type_number: t.ggml_type.number(),
            dims: t.dims.clone(),
            data: gguf.tensor_data(t).to_vec(),
        });
        let meta = gguf.metadata().iter().map(|(key, value)| (key.to_owned(), value));
        Draft { meta: meta.collect(), tensors: tensors.collect() }
    }

    pub(crate) fn value(&self, key: &str) -> Value<'static> {
        self.meta.iter().find(|(k, _)| k == key).unwrap_or_else(|| panic!("no {key}")).1
    }

    /// Sets a key, whether it was there or not.
    pub(crate) fn set(mut self, key: &str, value: impl Into<Value<'static>>) -> Self {
        self.meta.retain(|(k, _)| k != key);
        self.add(key, value)
    }

    /// Adds a key, even if it is there.
    pub(crate) fn add(mut self, key: &str, value: impl Into<Value<'static>>) -> Self {
        self.meta.push((key.to_owned(), value.into()));
        self
    }

    /// Sets a key to an array.
    pub(crate) fn set_array<T: Element<'static>>(
        self,
        key: &str,
        elements: impl IntoIterator<Item = T>,
    ) -> Self {
        let array: &'static ArrayBuf = Box::leak(Box::new(ArrayBuf::new(elements)));
        self.set(key, array)
    }

    /// Changes the elements of an array of strings.
    pub(crate) fn edit_strings(self, key: &str, edit: impl FnOnce(&mut Vec<&'static [u8]>)) -> Self {
        let Value::Array(array) = self.value(key) else { panic!("{key} is no array") };
        let mut strings: Vec<&'static [u8]> = array.iter().filter_map(Value::to).collect();
        edit(&mut strings);
        self.set_array(key, strings)
    }

    pub(crate) fn remove(mut self, key: &str) -> Self {
        self.value(key);
        self.meta.retain(|(k, _)| k != key);
        self
    }

    pub(crate) fn remove_tensor(mut self, name: &str) -> Self {
        self.edit_tensor(name);
        self.tensors.retain(|t| t.name != name);
        self
    }

    /// The tensor of this name, to be changed.
    pub(crate) fn edit_tensor(&mut self, name: &str) -> &mut Tensor {
        self.tensors.iter_mut().find(|t| t.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// Adds a tensor of 64 F32, even if there is one of this name.
    pub(crate) fn add_tensor(mut self, name: &str) -> Self {
        self.tensors.push(Tensor {
            name: name.to_owned(),
            type_number: 0,
            dims: vec![64],
            data: vec![0; 256],
        });
        self
    }

    /// Makes the contents of a tensor zero.
    pub(crate) fn zero(mut self, name: &str) -> Self {
        self.edit_tensor(name).data.fill(0);
        self
    }

    pub(crate) fn writer(&self) -> GgufWriter {
        let mut writer = GgufWriter::new();
        for (key, value) in &self.meta {
            writer.meta(key, *value);
        }
        for t in &self.tensors {
            writer.raw_tensor(&t.name, t.type_number, &t.dims, None, t.data.clone());
        }
        writer
    }
}
