//! `--trace`: records of what the machine does, as it does it.

use super::args::TraceArgs;
use super::output_file::OutputFile;
use anyhow::Result;
use ssnail_isa::trace::Form;
use ssnail_sim::Machine;
use ssnail_sim::observe::Observed;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A trace that is being written. The machine's observer writes to it, too.
pub(super) struct TraceFile(Arc<Mutex<Sink>>);

struct Sink {
    /// `None` once it has been finished.
    file: Option<OutputFile>,
    form: Form,
    /// Numbers of the instructions that are wanted.
    window: Range<u64>,
    /// Bytes of one record.
    buffer: Vec<u8>,
}

impl TraceFile {
    /// A trace to become `path`.
    pub(super) fn create(path: &Path, args: &TraceArgs) -> Result<Self> {
        let form = if args.trace_text { Form::Text } else { Form::Binary };
        let end = args.trace_count.map_or(u64::MAX, |n| args.trace_from.saturating_add(n));
        let mut file = OutputFile::create(path)?;
        file.append(&form.header());
        let sink = Sink { file: Some(file), form, window: args.trace_from..end, buffer: Vec::new() };
        Ok(TraceFile(Arc::new(Mutex::new(sink))))
    }

    /// Has the machine write records from now on.
    pub(super) fn observe(&self, machine: &mut Machine) {
        let sink = Arc::clone(&self.0);
        let observer = move |o: &Observed<'_>| sink.lock().expect("no observer panics").take(o);
        machine.set_observer(Some(Box::new(observer)));
    }

    /// Gives the file its name, however the run has ended.
    pub(super) fn finish(self) -> Result<()> {
        let file = self.0.lock().expect("no observer panics").file.take();
        file.map_or(Ok(()), OutputFile::finish)
    }
}

impl Sink {
    fn take(&mut self, o: &Observed<'_>) {
        if let Some(file) = self.file.as_mut().filter(|_| self.window.contains(&o.number)) {
            self.buffer.clear();
            self.form.append(&o.record(), &mut self.buffer);
            file.append(&self.buffer);
        }
    }
}
