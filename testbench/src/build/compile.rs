//! Verilator and g++: from Verilog to a shared library, once for each Verilog and set of flags.

use super::shim;
pub(crate) use super::shim::storage;
use super::tools::run;
use super::{Design, Error, Netlist, Tools, cache};
use crate::model::Library;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Compilers that run at once.
const JOBS: usize = 2;
/// Raised when the shim or the flags below change, so that no old library is loaded.
const VERSION: u32 = 1;

/// Verilator's warnings are errors, combinational loops (UNOPTFLAT) among them. Off are those about names of files, about
/// bits that nothing reads, which is VHDL's matter, and about comparisons that a `case` with ranges makes.
const LINT: &[&str] = &[
    "-Wall",
    "-Wno-UNUSEDSIGNAL",
    "-Wno-DECLFILENAME",
    "-Wno-CASEOVERLAP",
    "-Wno-UNSIGNED",
    "-Wno-CMPCONST",
];

/// How a model is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Options {
    /// g++'s optimisation: 1 compiles 2.5 times as fast, 2 runs up to twice as fast.
    pub optimise: u8,
    /// Whether the model can write FST waveforms. It is slower then even when it does not.
    pub trace: bool,
    /// Whether Verilator's warnings are errors.
    pub lint: bool,
}

impl Options {
    /// For small units.
    pub const UNIT: Options = Options { optimise: 2, trace: false, lint: true };
    /// For the whole core.
    pub const CHIP: Options = Options { optimise: 1, trace: false, lint: true };

    /// The same with waveforms.
    #[must_use]
    pub fn traced(self) -> Self {
        Options { trace: true, ..self }
    }
}

/// Synthesises a design and gives its model, from the cache if nothing has changed.
///
/// # Errors
/// What the tools say.
pub fn build(tools: &Tools, design: &Design, options: Options) -> Result<Arc<Library>, Error> {
    let netlist = design.synthesise(tools)?;
    let library = library(tools, &design.top, &netlist, options)?;
    Library::load(&library, design, &netlist.verilog, options.trace)
}

/// One build at a time: they would only take each other's cores, and might build the same.
static BUILDING: Mutex<()> = Mutex::new(());

/// The shared library of a netlist, from the cache or new.
///
/// # Errors
/// What the tools say.
pub fn library(tools: &Tools, top: &str, netlist: &Netlist, options: Options) -> Result<PathBuf, Error> {
    let text = &netlist.verilog.text;
    let mut hash = DefaultHasher::new();
    (VERSION, text, options, &tools.verilator).hash(&mut hash);
    let folder = cache().join(format!("{top}-{:016x}", hash.finish()));
    let library = folder.join("model.so");
    let _one = BUILDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // The Verilog is compared, so a hash that two share does no harm.
    if library.is_file() && fs::read_to_string(folder.join("model.v")).is_ok_and(|old| old == *text) {
        return Ok(library);
    }
    fs::create_dir_all(cache()).map_err(Error::file(cache()))?;
    let temporary = tempfile::tempdir_in(cache()).map_err(Error::file(cache()))?;
    compile(tools, top, netlist, options, temporary.path())?;
    let _ = fs::remove_dir_all(&folder);
    match fs::rename(temporary.keep(), &folder) {
        // Another process was faster.
        Err(_) if library.is_file() => Ok(library),
        moved => moved.map(|()| library).map_err(Error::file(&folder)),
    }
}

fn compile(
    tools: &Tools,
    top: &str,
    netlist: &Netlist,
    options: Options,
    folder: &Path,
) -> Result<(), Error> {
    let class = format!("V{top}");
    let source = folder.join("model.v");
    let objects = folder.join("obj");
    let write = |path: &Path, text: &str| fs::write(path, text).map_err(Error::file(path));
    write(&source, &netlist.verilog.text)?;
    let mut command = Command::new(&tools.verilator);
    command
        .env("VERILATOR_ROOT", &tools.root)
        .args(["--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert"])
        .args(if options.lint { LINT } else { &["-Wno-lint", "-Wno-fatal"] })
        .args(["--output-split", "20000", "--output-split-cfuncs", "2000"])
        .args(["--top-module", top, "--prefix", &class, "--Mdir"])
        .arg(&objects)
        .arg(&source);
    if options.trace {
        command.args(["--trace-fst", "--trace-structs"]);
    }
    run(&mut command)?;
    write(&objects.join("shim.cpp"), &shim::source(&netlist.verilog, &class, options.trace))?;

    let mut sources: Vec<(u64, PathBuf)> = fs::read_dir(&objects)
        .map_err(Error::file(&objects))?
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "cpp"))
        .map(|p| (p.metadata().map_or(0, |m| m.len()), p))
        .collect();
    sources.sort();
    // A few units of like size: headers are read once a unit, and all cores have work.
    let bytes: u64 = sources.iter().map(|(n, _)| n).sum();
    let units = if bytes < 200_000 { 1 } else { JOBS * (1 + bytes as usize / 4_000_000) };
    let mut texts = vec![String::new(); units];
    for (k, (_, path)) in sources.iter().enumerate() {
        texts[k % units] += &format!("#include \"{}\"\n", path.display());
    }
    let mut list = vec![];
    for (k, text) in texts.iter().enumerate() {
        let unit = objects.join(format!("unit{k}.cc"));
        write(&unit, text)?;
        list.push(unit);
    }
    let mut compiled = gpp(tools, &list, options, Some(&objects), &objects)?;
    compiled.append(&mut runtime(tools, options)?);
    let mut link = Command::new("g++");
    link.args(["-shared", "-Wl,-Bsymbolic", "-o"])
        .arg(folder.join("model.so"))
        .args(&compiled)
        .arg("-lpthread");
    if options.trace {
        link.arg("-lz");
        if tools.root.join("include/fstcpp").is_dir() {
            link.arg("-llz4");
        }
    }
    run(&mut link)?;
    // The C++ of a chip is large and never looked at again.
    fs::remove_dir_all(&objects).map_err(Error::file(&objects))
}

/// Verilator's own sources, compiled once for all models.
fn runtime(tools: &Tools, options: Options) -> Result<Vec<PathBuf>, Error> {
    let include = tools.root.join("include");
    let mut hash = DefaultHasher::new();
    (VERSION, options.trace, &tools.root).hash(&mut hash);
    let folder = cache().join(format!("runtime-{:016x}", hash.finish()));
    let names: &[&str] = if options.trace {
        &["verilated.cpp", "verilated_threads.cpp", "verilated_fst_c.cpp"]
    } else {
        &["verilated.cpp", "verilated_threads.cpp"]
    };
    let sources: Vec<_> = names.iter().map(|n| include.join(n)).collect();
    let done: Vec<_> = sources.iter().map(|s| object(&folder, s)).collect();
    if done.iter().all(|o| o.is_file()) {
        return Ok(done);
    }
    let temporary = tempfile::tempdir_in(cache()).map_err(Error::file(cache()))?;
    gpp(tools, &sources, Options { optimise: 2, ..options }, None, temporary.path())?;
    if let Err(e) = fs::rename(temporary.path(), &folder)
        && !folder.is_dir()
    {
        return Err(Error::file(&folder)(e));
    }
    Ok(done)
}

fn object(folder: &Path, source: &Path) -> PathBuf {
    let name = source.file_name().unwrap_or_default();
    folder.join(name).with_extension("o")
}

/// Compiles sources into objects in `out`, [`JOBS`] at a time.
fn gpp(
    tools: &Tools,
    sources: &[PathBuf],
    options: Options,
    headers: Option<&Path>,
    out: &Path,
) -> Result<Vec<PathBuf>, Error> {
    let include = tools.root.join("include");
    let next = Mutex::new(sources.iter());
    let one = |source: &Path| {
        let mut c = Command::new("g++");
        c.args([
            "-c",
            "-std=gnu++17",
            "-fPIC",
            "-fvisibility=hidden",
            "-fno-gnu-unique",
            "-fno-strict-aliasing",
            "-w",
        ])
        .arg(format!("-O{}", options.optimise))
        .args(["-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0"])
        .args(["-DVM_TRACE_VCD=0", "-DVM_TRACE_SAIF=0"])
        .arg(format!("-DVM_TRACE={}", u8::from(options.trace)))
        .arg(format!("-DVM_TRACE_FST={}", u8::from(options.trace)))
        .args(headers.map(|h| format!("-I{}", h.display())))
        .arg(format!("-I{}", include.display()))
        .arg(format!("-I{}", include.join("vltstd").display()))
        .arg("-o")
        .arg(object(out, source))
        .arg(source);
        run(&mut c).map(|_| ())
    };
    let work = || {
        loop {
            let source = next.lock().expect("compilers do not panic").next();
            match source {
                Some(source) => one(source)?,
                None => return Ok::<(), Error>(()),
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..JOBS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|w| w.join().expect("compilers do not panic"))
    })?;
    Ok(sources.iter().map(|s| object(out, s)).collect())
}
