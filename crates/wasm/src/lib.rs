//! Interface between the browser page and the engine. It takes a resolved scenario and a seed, and returns columns as
//! typed arrays.

mod browser;
mod columns;
mod modules;
mod picture;
mod resolved;
mod units;
mod watched;

use js_sys::Object;
use longpipe_control::Object as Controller;
use longpipe_events::Time;
use longpipe_network::scenario::{Engine, Framing};
use longpipe_network::{Recorder, Scenario, Simulation};
use picture::{Picture, View};
use std::cell::RefCell;
use std::sync::{Arc, Once};
use wasm_bindgen::prelude::*;
use watched::Watched;

/// Probe of a run, which is a picture or None. Both cases share one type, because the engine is compiled once per type
/// of probe.
type PictureProbe = Option<Watched>;

/// A run in progress. Dropping it cancels the run.
#[wasm_bindgen]
pub struct Run {
    scenario: Scenario,
    simulation: Simulation<PictureProbe>,
    /// This run's congestion controllers that are WebAssembly modules.
    modules: Vec<Arc<dyn Controller>>,
}

#[wasm_bindgen]
impl Run {
    /// Returns a run at time zero that computes counters only.
    ///
    /// # Errors
    /// Returns one line about the first problem if the scenario is invalid.
    #[wasm_bindgen(constructor)]
    pub fn new(scenario_json: &str, seed: u64) -> Result<Run, JsError> {
        begin(read(scenario_json)?, seed, None)
    }

    /// Returns a run at time zero that also collects a picture: `bins` intervals from `from_s` to `to_s` [s], windows
    /// of the first `flows` flows, segments of flow `sequence`.
    ///
    /// # Errors
    /// Returns one line about the first problem if the scenario is invalid.
    pub fn watched(
        scenario_json: &str,
        seed: u64,
        from_s: f64,
        to_s: f64,
        bins: usize,
        flows: usize,
        sequence: usize,
    ) -> Result<Run, JsError> {
        let scenario = read(scenario_json)?;
        let view = View::new(from_s, to_s, bins);
        let flows = flows.min(scenario.flows.len());
        let picture = Picture::new(view, flows, sequence, scenario.links.len());
        let recorder = Recorder::new(scenario.traces, scenario.flows.len(), scenario.links.len());
        begin(scenario, seed, Some(Watched { picture, recorder }))
    }

    /// Processes up to `events` events; returns false at the end of the run.
    ///
    /// # Errors
    /// Returns one line about the failure if a module failed.
    pub fn advance(&mut self, events: u32) -> Result<bool, JsError> {
        let goes_on = self.simulation.advance(u64::from(events));
        modules::failure(&self.modules).map_or(Ok(goes_on), |why| Err(JsError::new(&why)))
    }

    /// Returns the elapsed fraction of the simulated time, from 0 to 1.
    pub fn progress(&self) -> f64 {
        self.simulation.progress()
    }

    /// Returns the current picture; null if the run collects none.
    pub fn picture(&self) -> Option<Object> {
        self.simulation
            .probe()
            .as_ref()
            .map(|watched| watched.picture.columns())
    }

    /// Returns the results of a finished run: `flows`, `ports`, `web`, `state_hash`, `events`, `replaced` (lines about
    /// values of modules that were out of range), and `picture` and `traces` if collected.
    ///
    /// # Errors
    /// Returns an error if the counters are inconsistent, which is a defect of longpipe.
    pub fn finish(self) -> Result<Object, JsError> {
        let Run {
            scenario,
            mut simulation,
            modules,
        } = self;
        let report = simulation.report().map_err(|error| JsError::new(&error.to_string()))?;
        let result = columns::of_report(&scenario, &report);
        let replaced = modules::replaced(&modules);
        columns::put(
            &result,
            "replaced",
            &columns::texts(replaced.iter().map(String::as_str)),
        );
        if let Some(Watched { picture, mut recorder }) = simulation.into_probe() {
            recorder.finish(Time(scenario.duration_ps));
            columns::put(&result, "picture", &picture.columns());
            columns::put(&result, "traces", &columns::of_traces(&scenario, recorder));
        }
        Ok(result)
    }
}

fn begin(mut scenario: Scenario, seed: u64, watching: PictureProbe) -> Result<Run, JsError> {
    let modules = modules::load(&mut scenario).map_err(|error| JsError::new(&error.0))?;
    let simulation =
        Simulation::with_probe(&scenario, seed, watching).map_err(|error| JsError::new(&error.to_string()))?;
    Ok(Run {
        scenario,
        simulation,
        modules,
    })
}

fn read(scenario_json: &str) -> Result<Scenario, JsError> {
    let read = Scenario::from_json(scenario_json);
    let mut scenario = read.map_err(|error| JsError::new(&format!("scenario: {error}")))?;
    if scenario.framing == Framing::Ip {
        // The page does not contain the reference engine, whose results are identical.
        scenario.engine = Engine::Trains;
    }
    Ok(scenario)
}

/// Returns the number of the engine (see docs/studies.md).
#[wasm_bindgen]
pub fn engine() -> u32 {
    longpipe_network::ENGINE
}

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

static HOOK: Once = Once::new();

/// Stores panic messages for `last_panic`. Call it once, before the first run.
#[wasm_bindgen]
pub fn keep_panics() {
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| PANIC.set(panic.to_string())));
    });
}

/// Returns the message of the panic that ended a run; empty if there was none.
#[wasm_bindgen]
pub fn last_panic() -> String {
    PANIC.take()
}
