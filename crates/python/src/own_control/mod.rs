//! Congestion controllers that are classes in Python: the classes that a simulation uses, and their errors.

pub(crate) mod classes;
mod connection;
mod policy;

use crate::errors::ControlError;
use classes::Class;
use connection::Connection;
use longpipe_control::environment::slowest_bps;
use longpipe_control::Complaints;
use longpipe_events::Time;
use longpipe_network::Scenario;
use longpipe_tcp::config::CongestionConfig;
use longpipe_tcp::congestion::user::{Controller, Plugin, Requirements};
use policy::SharedPolicy;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A class with its parameters, as used in one simulation.
#[derive(Debug)]
pub(crate) struct InRun {
    class: Arc<Class>,
    parameters: Vec<(String, String)>,
    complaints: Arc<Complaints>,
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
    /// Whether a failure must interrupt the process, because the caller checks for failures only at the end of the run.
    interrupts: bool,
}

/// The first error of a class, and the hook and the time at which it occurred.
#[derive(Debug)]
struct Failure {
    error: PyErr,
    hook: &'static str,
    at: Time,
}

impl InRun {
    /// Returns the name of the class.
    pub fn name(&self) -> &str {
        &self.class.name
    }

    /// Messages about invalid values that were replaced.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.lines()
    }

    /// Returns the error of the class, if there is one.
    pub fn failure(&self, py: Python<'_>) -> PyResult<()> {
        if !self.failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        match &*failure {
            // Ctrl-C does not count as an error of the class.
            Some(failure) if !failure.error.is_instance_of::<pyo3::exceptions::PyException>(py) => {
                Err(failure.error.clone_ref(py))
            }
            Some(failure) => {
                let at = failure.at.as_seconds();
                let error = failure.error.clone_ref(py).into_value(py);
                Err(ControlError::new_err((error, self.name().to_owned(), failure.hook, at)))
            }
            None => Ok(()),
        }
    }

    #[cold]
    fn fail(&self, py: Python<'_>, error: PyErr, hook: &'static str, at: Time) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_none() {
            *failure = Some(Failure { error, hook, at });
            self.failed.store(true, Ordering::Relaxed);
            if self.interrupts {
                // This call fails only if there is no main thread to interrupt.
                let _ = py
                    .import("_thread")
                    .and_then(|thread| thread.call_method0("interrupt_main"));
            }
        }
    }
}

/// Digest of a class, and the names and values of its parameters.
type Settings = (String, Vec<(String, String)>);

/// Fills the plug-in slots of a scenario whose digests refer to classes. Returns the classes in use, each with its
/// error state.
pub(crate) fn connect(scenario: &mut Scenario, interrupts: bool) -> Vec<Arc<InRun>> {
    let mut runs: BTreeMap<Settings, Arc<InRun>> = BTreeMap::new();
    for index in 0..scenario.flows.len() {
        let slowest_bps = slowest_bps(scenario, index);
        let flow = &mut scenario.flows[index];
        let CongestionConfig::Module(module) = &mut flow.tcp.congestion else {
            continue;
        };
        let Some(class) = classes::find(&module.digest) else {
            continue;
        };
        let key = (module.digest.clone(), module.parameters.clone());
        let parameters = module.parameters.clone();
        let run = runs.entry(key).or_insert_with(|| {
            Arc::new(InRun {
                class,
                parameters,
                complaints: Arc::default(),
                failed: AtomicBool::new(false),
                failure: Mutex::new(None),
                interrupts,
            })
        });
        let run = Arc::clone(run);
        module.plugin.0 = Some(match run.class.steers {
            None => Arc::new(Shared(run)),
            Some(steering) => Arc::new(SharedPolicy {
                run,
                steering,
                slowest_bps,
            }),
        });
    }
    runs.into_values().collect()
}

/// A class that serves as the plug-in of a scenario.
#[derive(Clone, Debug)]
struct Shared(Arc<InRun>);

impl Plugin for Shared {
    fn requirements(&self) -> Requirements {
        self.0.class.requirements
    }

    fn connect(&self) -> Box<dyn Controller> {
        Box::new(Connection::new(Arc::clone(&self.0)))
    }
}
