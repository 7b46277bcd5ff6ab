//! Reading a GGUF file allocates no more than a small multiple of its size, whatever its counts say.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ssnail_convert::ggml::GgmlType;
use ssnail_convert::gguf::{ArrayBuf, Gguf, GgufWriter, Strings};

/// The system's allocator, with a count of the bytes in use and the most there ever were.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; the rest is counting.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let in_use = IN_USE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(in_use, Relaxed);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `ptr` was made by `alloc` above, hence by the system's allocator, with this layout.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Reads a file and gives the most that was allocated meanwhile, in multiples of the file's size.
fn read(bytes: Vec<u8>) -> (f64, bool) {
    let (len, before) = (bytes.len(), IN_USE.load(Relaxed));
    PEAK.store(before, Relaxed);
    let result = Gguf::from_bytes(bytes);
    if let Ok(gguf) = &result
        && let Ok(Some(tokens)) = gguf.get::<Strings>("tokens")
    {
        assert_eq!(tokens.len(), tokens.count());
    }
    ((PEAK.load(Relaxed) - before) as f64 / len as f64, result.is_ok())
}

fn with_count_at(offset: usize, count: u64, mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[offset..offset + 8].copy_from_slice(&count.to_le_bytes());
    bytes
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn memory_is_bounded_by_the_file() {
    const TENSOR_COUNT_AT: usize = 8;
    const METADATA_COUNT_AT: usize = 16;

    // Small entries only: what is kept of them weighs most.
    let mut entries = GgufWriter::new();
    let mut tensors = GgufWriter::new();
    for i in 0..20_000 {
        entries.meta(format!("{i:x}"), 1u8);
        tensors.raw_tensor(format!("{i:x}"), GgmlType::I8.number(), &[1], Some(32 * i), []);
    }
    tensors.raw_tensor("data", GgmlType::I8.number(), &[1], Some(32 * 20_000), vec![0; 32 * 20_000 + 1]);
    let (factor, ok) = read(entries.to_bytes());
    assert!(ok && factor < 8.0, "{factor}");
    let (factor, ok) = read(tensors.to_bytes());
    assert!(ok && factor < 8.0, "{factor}");

    // Strings, empty ones too, stay where they are.
    let mut tokens = GgufWriter::new();
    tokens.meta("tokens", &ArrayBuf::new(vec![""; 100_000]));
    let (factor, ok) = read(tokens.to_bytes());
    assert!(ok && factor < 0.01, "{factor}");

    // Counts that just fit, and counts that do not.
    let one_mb = || [GgufWriter::new().to_bytes(), vec![0; 1 << 20]].concat();
    for at in [TENSOR_COUNT_AT, METADATA_COUNT_AT] {
        for count in [(1 << 20) / 33, (1 << 20) / 14, (1 << 20) / 14 + 1, 1 << 32, 1 << 63, u64::MAX] {
            let (factor, ok) = read(with_count_at(at, count, one_mb()));
            assert!(!ok && factor < 8.0, "{count} at {at}: {factor}");
        }
    }
}
