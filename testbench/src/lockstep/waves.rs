//! Everything in a run is seeded, so one that differs is run once more on a model with waveforms, which are written for
//! its last cycles.

use super::Stop;
use crate::build::{Options, Tools};
use crate::chip::{self, Config, Waves};
use crate::model::Library;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Cycles before the end that the waveforms show.
const BEFORE: u64 = 3_000;

/// A run that differs.
#[derive(Debug)]
pub struct Failure {
    /// Why it stopped.
    pub stop: Stop,
    /// The waveforms, or why there are none.
    pub waves: Result<PathBuf, String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.waves {
            Ok(path) => write!(f, "{}  waveforms: {}", self.stop, path.display()),
            Err(e) => write!(f, "{}  no waveforms: {e}", self.stop),
        }
    }
}

impl std::error::Error for Failure {}

/// Runs; when that fails, runs again with waveforms in `folder`.
///
/// # Errors
/// What `run` gives.
pub fn with_waves<T>(
    tools: &Tools,
    library: &Arc<Library>,
    config: &Config,
    folder: &Path,
    mut run: impl FnMut(&Arc<Library>, &Config) -> Result<T, Stop>,
) -> Result<T, Box<Failure>> {
    run(library, config).map_err(|stop| {
        let waves = chip::library(tools, config.memory, Options::CHIP.traced())
            .map_err(|e| e.to_string())
            .and_then(|traced| {
                std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
                let path = folder.join(format!("difference-{}.fst", config.seed));
                let from = stop.cycle().saturating_sub(BEFORE);
                let config = Config { waves: Some(Waves { path: path.clone(), from }), ..config.clone() };
                match run(&traced, &config) {
                    Err(again) if again.cycle() == stop.cycle() => Ok(path),
                    _ => Err("the run with waveforms went another way".into()),
                }
            });
        Box::new(Failure { stop, waves })
    })
}
