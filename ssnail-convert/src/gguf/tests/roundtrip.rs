//! What the writer writes, the reader reads, for any metadata and tensors.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::super::{Array, Element, Strings, Value};
use super::*;

/// A metadata value that owns its bytes.
#[derive(Debug, Clone)]
enum Meta {
    Scalar(Value<'static>),
    String(Vec<u8>),
    Array(ArrayBuf),
}

impl Meta {
    fn value(&self) -> Value<'_> {
        match self {
            Meta::Scalar(value) => *value,
            Meta::String(bytes) => Value::String(bytes),
            Meta::Array(array) => Value::Array(array.as_array()),
        }
    }
}

fn scalar() -> impl Strategy<Value = Value<'static>> {
    // NaN is left out only because it is not equal to itself.
    prop_oneof![
        any::<u8>().prop_map(Value::U8),
        any::<i8>().prop_map(Value::I8),
        any::<u16>().prop_map(Value::U16),
        any::<i16>().prop_map(Value::I16),
        any::<u32>().prop_map(Value::U32),
        any::<i32>().prop_map(Value::I32),
        any::<u64>().prop_map(Value::U64),
        any::<i64>().prop_map(Value::I64),
        any::<bool>().prop_map(Value::Bool),
        any::<f32>().prop_filter("number", |v| !v.is_nan()).prop_map(Value::F32),
        any::<f64>().prop_filter("number", |v| !v.is_nan()).prop_map(Value::F64),
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..20)
}

fn array_of<T: for<'a> Element<'a> + Arbitrary>() -> impl Strategy<Value = ArrayBuf> {
    vec(any::<T>(), 0..8).prop_map(ArrayBuf::new)
}

fn array() -> impl Strategy<Value = ArrayBuf> {
    let flat = prop_oneof![
        array_of::<u8>(),
        array_of::<i16>(),
        array_of::<i32>(),
        array_of::<u64>(),
        array_of::<bool>(),
        array_of::<f32>(),
        vec(bytes(), 0..8).prop_map(|v| ArrayBuf::new(v.iter().map(Vec::as_slice))),
    ];
    flat.prop_recursive(3, 20, 4, |inner| vec(inner, 0..4).prop_map(|v| ArrayBuf::new(&v)))
}

fn meta() -> impl Strategy<Value = Meta> {
    prop_oneof![
        4 => scalar().prop_map(Meta::Scalar),
        2 => bytes().prop_map(Meta::String),
        2 => array().prop_map(Meta::Array),
    ]
}

/// Type, dimensions and as many bytes as they need.
fn tensor() -> impl Strategy<Value = (GgmlType, Vec<u64>, Vec<u8>)> {
    let shape = (proptest::sample::select(GgmlType::ALL), vec(1u64..4, 1..=4));
    shape.prop_flat_map(|(ggml_type, mut dims)| {
        dims[0] *= u64::from(ggml_type.block_len());
        let n_bytes = ggml_type.row_bytes(dims[0]).unwrap() * dims[1..].iter().product::<u64>();
        (Just(ggml_type), Just(dims), any::<u8>().prop_map(move |b| vec![b; n_bytes as usize]))
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        version in 2u32..=3,
        log_alignment in 3u32..10,
        metadata in btree_map("[a-zπ.]{1,12}", meta(), 0..12),
        tensors in btree_map("[a-zπ.]{1,12}", tensor(), 0..8),
    ) {
        let mut writer = GgufWriter::new();
        writer.version(version).alignment(1 << log_alignment);
        for (key, meta) in &metadata {
            writer.meta(key, meta.value());
        }
        for (name, (ggml_type, dims, data)) in &tensors {
            writer.tensor(name, *ggml_type, dims, data.clone());
        }
        let gguf = Gguf::from_bytes(writer.to_bytes()).unwrap();

        prop_assert_eq!(gguf.version(), version);
        prop_assert_eq!(gguf.alignment(), 1 << log_alignment);
        let read: Vec<_> = gguf.metadata().iter().skip(1).collect();
        let written: Vec<_> = metadata.iter().map(|(key, meta)| (key.as_str(), meta.value())).collect();
        prop_assert_eq!(read, written);
        prop_assert_eq!(gguf.tensors().len(), tensors.len());
        for (info, (name, (ggml_type, dims, data))) in gguf.tensors().iter().zip(&tensors) {
            prop_assert_eq!(&info.name, name);
            prop_assert_eq!(info.ggml_type, *ggml_type);
            prop_assert_eq!(&info.dims, dims);
            prop_assert_eq!(gguf.tensor_data(info), data);
            prop_assert_eq!(gguf.tensor(name), Some(info));
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Gguf::from_bytes([b"GGUF\x03\0\0\0".as_slice(), &bytes].concat());
    }
}

#[test]
fn one_of_everything_comes_back() {
    let gguf = Gguf::from_bytes(one_of_everything().to_bytes()).unwrap();
    assert_eq!(gguf.require::<&str>("general.architecture").unwrap(), "llama");
    assert_eq!(gguf.require::<u64>("a.u8").unwrap(), 200);
    assert_eq!(gguf.require::<i64>("a.i32").unwrap(), -2_000_000_000);
    assert_eq!(gguf.require::<u64>("a.u64").unwrap(), u64::MAX);
    assert_eq!(gguf.require::<f32>("a.f32").unwrap(), 1e-5);
    assert_eq!(gguf.require::<f64>("a.f64").unwrap(), 0.1);
    assert!(gguf.require::<bool>("a.bool").unwrap());
    assert_eq!(gguf.require::<&[u8]>("a.bytes").unwrap(), b"\xff\x00");
    assert_eq!(gguf.require::<Vec<f32>>("a.scores").unwrap(), [0.5, -1.0]);
    assert_eq!(gguf.require::<Vec<u32>>("a.types").unwrap(), [1, 3, 6]);
    assert_eq!(gguf.require::<Vec<bool>>("a.flags").unwrap(), [true, false]);
    let tokens = gguf.require::<Strings>("a.tokens").unwrap();
    assert_eq!(tokens.len(), 3);
    assert_eq!(tokens.collect::<Vec<_>>(), [&b"<unk>"[..], b"", b"\xc3"]);
    let nested = gguf.require::<Array>("a.nested").unwrap();
    assert_eq!(nested.iter().map(|inner| inner.to::<Array>().unwrap().len()).collect::<Vec<_>>(), [2, 1]);

    assert_eq!(gguf.tensors().iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["one", "two", "three"]);
    let two = gguf.require_tensor("two").unwrap();
    assert_eq!((two.ggml_type, two.dims.as_slice(), two.n_bytes), (GgmlType::Q4_0, &[64, 2][..], 72));
    assert_eq!(gguf.tensor_data(two), [2u8; 72]);
    assert_eq!(gguf.tensor_data(gguf.tensor("three").unwrap()), [3u8; 64]);
}

#[test]
fn a_file_written_anew_is_the_same() {
    let bytes = one_of_everything().to_bytes();
    let gguf = Gguf::from_bytes(bytes.clone()).unwrap();
    let mut writer = GgufWriter::new();
    for (key, value) in gguf.metadata().iter() {
        match (key, value) {
            ("general.alignment", Value::U32(alignment)) => writer.alignment(alignment),
            _ => writer.meta(key, value),
        };
    }
    for info in gguf.tensors() {
        writer.tensor(&info.name, info.ggml_type, &info.dims, gguf.tensor_data(info));
    }
    assert_eq!(writer.to_bytes(), bytes);
}
