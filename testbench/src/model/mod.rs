//! A model in this process: its ports by name, clocks, recordings, waveforms.
//!
//! | module | what lives there |
//! |---|---|
//! | this one | [`Library`], [`Model`], [`Port`] |
//! | [`record`](mod@record) | recordings, and their replay on the VHDL in GHDL's simulator |

pub mod record;

pub use record::{Recording, Replay, replay};

use crate::build::{Design, Error};
use crate::ghdl2v::Verilog;
use crate::ghdl2v::netlist::Port as Declared;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;

type New = unsafe extern "C" fn() -> *mut c_void;
type Act = unsafe extern "C" fn(*mut c_void);
type At = unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void;
type Open = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type Dump = unsafe extern "C" fn(*mut c_void, u64);

/// A model's code, loaded once; [`Model::new`] makes instances of it.
#[derive(Debug)]
pub struct Library {
    design: Design,
    inputs: Vec<Declared>,
    outputs: Vec<Declared>,
    new: New,
    free: Act,
    eval: Act,
    port: At,
    trace: Option<Trace>,
    /// Keeps the functions above mapped.
    _code: libloading::Library,
}

/// The functions that write waveforms.
#[derive(Debug, Clone, Copy)]
struct Trace {
    open: Open,
    dump: Dump,
    close: Act,
}

impl Library {
    /// Loads a library that [`crate::build`] has made.
    ///
    /// # Errors
    /// When the file is no such library.
    pub fn load(path: &Path, design: &Design, v: &Verilog, trace: bool) -> Result<Arc<Self>, Error> {
        let error = |error| Error::Load { path: path.into(), error };
        // SAFETY: the library was compiled by us from Verilator's output; its initialisers have no preconditions.
        let code = unsafe { libloading::Library::new(path) }.map_err(error)?;
        // SAFETY: the shim declares these functions with these types.
        let (new, free, eval, port) = unsafe {
            let get = |name: &[u8]| code.get::<Act>(name).map(|f| *f);
            let new = *code.get::<New>(b"ssnail_new").map_err(error)?;
            let port = *code.get::<At>(b"ssnail_port").map_err(error)?;
            (new, get(b"ssnail_free").map_err(error)?, get(b"ssnail_eval").map_err(error)?, port)
        };
        let trace = if trace {
            // SAFETY: as above; the shim has them when it was made with waveforms.
            Some(unsafe {
                Trace {
                    open: *code.get::<Open>(b"ssnail_trace_open").map_err(error)?,
                    dump: *code.get::<Dump>(b"ssnail_trace_dump").map_err(error)?,
                    close: *code.get::<Act>(b"ssnail_trace_close").map_err(error)?,
                }
            })
        } else {
            None
        };
        let (inputs, outputs) = (v.inputs.clone(), v.outputs.clone());
        Ok(Arc::new(Library {
            design: design.clone(),
            inputs,
            outputs,
            new,
            free,
            eval,
            port,
            trace,
            _code: code,
        }))
    }

    /// What it is a model of.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Inputs, in the order of the VHDL.
    pub fn inputs(&self) -> &[Declared] {
        &self.inputs
    }

    /// Outputs, likewise.
    pub fn outputs(&self) -> &[Declared] {
        &self.outputs
    }

    fn declared(&self, k: usize) -> &Declared {
        self.inputs.get(k).unwrap_or_else(|| &self.outputs[k - self.inputs.len()])
    }
}

/// A port of a model: its place in the list of inputs and outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port(u16);

/// An instance of a model.
pub struct Model {
    handle: *mut c_void,
    /// Where each port is kept, and in how many bytes.
    places: Vec<(*mut u8, usize)>,
    clock: Option<Port>,
    time: u64,
    waves: Option<*mut c_void>,
    recording: Option<Recording>,
    library: Arc<Library>,
}

// SAFETY: a model has its own context and is touched through `&mut self` or, for reads, by one owner at a time.
unsafe impl Send for Model {}

impl Model {
    /// A new instance, all inputs 0. Its main clock is the port `clk`, or `clock162` where there is one.
    pub fn new(library: &Arc<Library>) -> Self {
        // SAFETY: makes an object that `drop` frees.
        let handle = unsafe { (library.new)() };
        let ports = library.inputs.iter().chain(&library.outputs);
        let places = ports
            .enumerate()
            .map(|(k, p)| {
                // SAFETY: `k` is one of the shim's ports; the address is valid as long as the object.
                let place = unsafe { (library.port)(handle, k as c_int) };
                (place.cast::<u8>(), crate::build::compile::storage(p.width))
            })
            .collect();
        let mut m = Model {
            handle,
            places,
            clock: None,
            time: 0,
            waves: None,
            recording: None,
            library: library.clone(),
        };
        m.clock = m.find("clock162").or_else(|| m.find("clk"));
        m
    }

    /// The port of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<Port> {
        let ports = self.library.inputs.iter().chain(&self.library.outputs);
        ports.enumerate().find(|(_, p)| p.name == name).map(|(k, _)| Port(k as u16))
    }

    /// The port of this name.
    ///
    /// # Panics
    /// When there is none: the bench and the VHDL disagree.
    pub fn port(&self, name: &str) -> Port {
        self.find(name).unwrap_or_else(|| panic!("{} has no port {name}", self.library.design.top))
    }

    /// The value of a port of up to 64 bits.
    ///
    /// # Panics
    /// When it is wider.
    #[inline]
    pub fn get(&self, port: Port) -> u64 {
        let (place, bytes) = self.places[usize::from(port.0)];
        // SAFETY: the shim asserts that the port is kept in so many bytes, aligned as the type of that size.
        unsafe {
            match bytes {
                1 => u64::from(place.read()),
                2 => u64::from(place.cast::<u16>().read()),
                4 => u64::from(place.cast::<u32>().read()),
                8 => place.cast::<u64>().read(),
                _ => panic!("{} is wider than 64 bits", self.name(port)),
            }
        }
    }

    /// Whether a port of one bit is 1.
    #[inline]
    pub fn is_set(&self, port: Port) -> bool {
        self.get(port) != 0
    }

    /// Sets an input of up to 64 bits.
    ///
    /// # Panics
    /// When it is wider, or the value does not fit.
    #[inline]
    pub fn set(&mut self, port: Port, value: u64) {
        let (place, bytes) = self.places[usize::from(port.0)];
        let width = self.library.declared(usize::from(port.0)).width;
        assert!(width >= 64 || value >> width == 0, "{:#x} does not fit {}", value, self.name(port));
        // SAFETY: as in `get`.
        unsafe {
            match bytes {
                1 => place.write(value as u8),
                2 => place.cast::<u16>().write(value as u16),
                4 => place.cast::<u32>().write(value as u32),
                8 => place.cast::<u64>().write(value),
                _ => panic!("{} is wider than 64 bits", self.name(port)),
            }
        }
    }

    /// The 32-bit words of a port of any width, low first.
    pub fn get_wide(&self, port: Port) -> Vec<u32> {
        let (place, bytes) = self.places[usize::from(port.0)];
        if bytes <= 8 {
            let value = self.get(port);
            return if bytes == 8 { vec![value as u32, (value >> 32) as u32] } else { vec![value as u32] };
        }
        // SAFETY: wide ports are arrays of u32 that fill the storage.
        unsafe { std::slice::from_raw_parts(place.cast::<u32>(), bytes / 4) }.to_vec()
    }

    /// Sets an input of more than 64 bits, low word first.
    ///
    /// # Panics
    /// When the number of words is not that of the port.
    pub fn set_wide(&mut self, port: Port, words: &[u32]) {
        let (place, bytes) = self.places[usize::from(port.0)];
        assert!(bytes > 8 && bytes == 4 * words.len(), "{} has another width", self.name(port));
        // SAFETY: as in `get_wide`; the model does not run meanwhile.
        unsafe { std::slice::from_raw_parts_mut(place.cast::<u32>(), words.len()) }.copy_from_slice(words);
    }

    fn name(&self, port: Port) -> &str {
        &self.library.declared(usize::from(port.0)).name
    }

    /// The first half of a clock: the main clock is low, and what depends on inputs without a clock settles.
    pub fn settle(&mut self) {
        if let Some(clock) = self.clock {
            self.set(clock, 0);
        }
        self.eval();
    }

    /// The second half: records, then the main clock rises, and with it other clocks take the values given.
    pub fn rise(&mut self, others: &[(Port, u64)]) {
        if let Some(mut recording) = self.recording.take() {
            recording.line(self, others);
            self.recording = Some(recording);
        }
        for &(port, value) in others {
            self.set(port, value);
        }
        let clock = self.clock.expect("a model with a clock");
        self.set(clock, 1);
        self.eval();
    }

    /// One clock: inputs that were set are sampled at the edge; afterwards outputs are what registers then hold.
    pub fn tick(&mut self) {
        self.settle();
        self.rise(&[]);
    }

    fn eval(&mut self) {
        // SAFETY: the object lives until `drop`.
        unsafe { (self.library.eval)(self.handle) }
        if let (Some(waves), Some(trace)) = (self.waves, self.library.trace) {
            // SAFETY: opened by `waves_on` on this object.
            unsafe { (trace.dump)(waves, self.time) }
        }
        self.time += 1;
    }

    /// Writes waveforms (FST) from now on; two units of time a clock.
    ///
    /// # Panics
    /// When the library was built without, or the path has a NUL.
    pub fn waves_on(&mut self, path: &Path) {
        let trace = self.library.trace.expect("a library with waveforms");
        let path = CString::new(path.as_os_str().as_encoded_bytes()).expect("no NUL in a path");
        // SAFETY: object and string are valid; the writer copies the name.
        self.waves = Some(unsafe { (trace.open)(self.handle, path.as_ptr()) });
    }

    /// Records inputs and outputs from now on, for [`replay`].
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn record(&mut self, path: PathBuf) -> Result<(), Error> {
        self.recording = Some(Recording::new(&self.library, path)?);
        Ok(())
    }

    /// Ends the recording, if there is one.
    ///
    /// # Errors
    /// When the file could not be written.
    pub fn end_record(&mut self) -> Result<Option<Replay>, Error> {
        self.recording.take().map(Recording::finish).transpose()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let (Some(waves), Some(trace)) = (self.waves, self.library.trace) {
            // SAFETY: opened by `waves_on`, closed once.
            unsafe { (trace.close)(waves) }
        }
        // SAFETY: made by `new`, freed once.
        unsafe { (self.library.free)(self.handle) }
    }
}

/// Declares a struct of ports that are found by their names.
#[macro_export]
macro_rules! ports {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($port:ident),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        $vis struct $name { $( #[doc = concat!("Port `", stringify!($port), "`.")] pub $port: $crate::model::Port, )* }
        impl $name {
            /// Finds the ports.
            $vis fn new(model: &$crate::model::Model) -> Self {
                $name { $( $port: model.port(stringify!($port)), )* }
            }
        }
    };
}
