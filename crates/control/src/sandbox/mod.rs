//! Controllers that are WebAssembly modules: `longpipe_control.h` compiled for wasm32.
//!
//! An [`Executor`] executes them: an interpreter, or the browser in which the lab runs. A module can only compute:
//! functions that it imports fail when they are called. A failure ends the module, not the process.

pub mod executor;
mod guest;
#[cfg(feature = "webassembly")]
pub(crate) mod interpreter;
mod layout;

use crate::complaints::Complaints;
use crate::flow::Flow;
use crate::operations::{requirements, About, Object, Operations};
use crate::settings::{LoadError, Value};
use executor::Executor;
use guest::Guest;
use longpipe_events::{Span, Stream};
use longpipe_plugin::table::{Ack, Flight, Grant, Lost, Sample, Sent};
use longpipe_tcp::congestion::user::{Controller, Plugin, Requirements};
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Returns the controller of an instance, after setting its parameters and opening it. Error messages refer to its file
/// as `shown`.
///
/// # Errors
/// Returns an error if the instance is not a controller, has another version, or does not accept a parameter.
pub fn load<E: Executor>(
    instance: Result<E, String>,
    shown: &str,
    parameters: &[(String, String)],
    hz: u32,
) -> Result<Arc<dyn Object>, LoadError> {
    let refused = |why: String| LoadError::file(shown, why);
    let mut guest = instance.and_then(Guest::new).map_err(refused)?;
    set(&mut guest, shown, parameters)?;
    guest.open(hz).map_err(refused)?;
    let requested = guest.wants().map_err(refused)?;
    let name = guest.name().map_err(refused)?;
    let about = About {
        name,
        file: shown.to_owned(),
        requirements: requirements(requested),
        complaints: Complaints::default(),
        has_on_acked_or_sample: guest.has_samples(),
        has_on_sent: guest.has_on_sent(),
        has_on_lost: guest.has_on_lost(),
    };
    Ok(Arc::new(Sandboxed(Arc::new(Module {
        about,
        running: Mutex::new(Running { guest, failure: None }),
    }))))
}

/// Sets the parameters that a scenario names.
fn set<E: Executor>(guest: &mut Guest<E>, shown: &str, wanted: &[(String, String)]) -> Result<(), LoadError> {
    let listed = guest.parameters().map_err(|why| LoadError::file(shown, why))?;
    for (name, value) in wanted {
        let Some(parameter) = listed.iter().find(|parameter| parameter.name == *name) else {
            let names: Vec<&str> = listed.iter().map(|parameter| parameter.name.as_str()).collect();
            return Err(LoadError::unknown(name, &names));
        };
        let read = Value::read(name, parameter.kind, value)?;
        if !guest.set(parameter, &read).map_err(|why| LoadError::file(shown, why))? {
            return Err(LoadError::refused(name, value));
        }
    }
    Ok(())
}

/// A module in the form in which a scenario stores it.
#[derive(Debug)]
struct Sandboxed<E: Executor>(Arc<Module<E>>);

/// A module of one simulation.
#[derive(Debug)]
struct Module<E: Executor> {
    about: About,
    running: Mutex<Running<E>>,
}

#[derive(Debug)]
struct Running<E: Executor> {
    guest: Guest<E>,
    /// Reason why the module failed, if it did; a failed module is not called again.
    failure: Option<String>,
}

impl<E: Executor> Module<E> {
    fn running(&self) -> MutexGuard<'_, Running<E>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls an operation unless the module has failed. If the call fails, the message includes the time, if known.
    fn call<T>(
        &self,
        now_ps: Option<u64>,
        name: &str,
        call: impl FnOnce(&mut Guest<E>) -> Result<T, String>,
    ) -> Option<T> {
        let mut running = self.running();
        if running.failure.is_some() {
            return None;
        }
        match call(&mut running.guest) {
            Ok(value) => Some(value),
            Err(why) => {
                let at = now_ps.map_or_else(String::new, |now_ps| format!(" at {:.6} s", now_ps as f64 / 1e12));
                running.failure = Some(format!("{}: {name} fails{at}: {why}", self.about.file));
                None
            }
        }
    }
}

impl<E: Executor> Object for Sandboxed<E> {
    fn about(&self) -> &About {
        &self.0.about
    }

    fn failure(&self) -> Option<String> {
        self.0.running().failure.clone()
    }
}

impl<E: Executor> Plugin for Sandboxed<E> {
    fn requirements(&self) -> Requirements {
        self.0.about.requirements
    }

    fn connect(&self) -> Box<dyn Controller> {
        let source = self.0.running().guest.add_source();
        Box::new(Flow::new(SandboxedFlow {
            module: Arc::clone(&self.0),
            source,
            state: 0,
        }))
    }
}

/// State of one connection.
#[derive(Debug)]
struct SandboxedFlow<E: Executor> {
    module: Arc<Module<E>>,
    /// Index of the connection's random stream.
    source: u32,
    /// Address of the connection's state in the module's memory.
    state: u32,
}

impl<E: Executor> Operations for SandboxedFlow<E> {
    fn about(&self) -> &About {
        &self.module.about
    }

    fn create(&mut self, ecn: bool, preconnect: Span) {
        let create = |guest: &mut Guest<E>| guest.create(self.source, ecn, preconnect);
        let created = self.module.call(None, "create", create);
        self.state = created.unwrap_or(0);
    }

    fn draw_from(&mut self, draws: Stream) {
        self.module.running().guest.draw_from(self.source, draws);
    }

    fn on_start(&mut self, rtt_ps: u64, flight: &Flight, grant: &mut Grant) {
        let (module, state) = (&self.module, self.state);
        module.call(None, "on_start", |guest| guest.on_start(state, rtt_ps, flight, grant));
    }

    fn on_acked(&mut self, sample: &Sample, flight: &Flight, grant: &mut Grant) {
        let (module, state) = (&self.module, self.state);
        module.call(Some(flight.now_ps), "on_acked", |guest| {
            guest.on_acked(state, sample, flight, grant)
        });
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight, grant: &mut Grant) {
        let (module, state) = (&self.module, self.state);
        module.call(Some(flight.now_ps), "on_ack", |guest| {
            guest.on_ack(state, ack, flight, grant)
        });
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight, grant: &mut Grant) {
        let (module, state) = (&self.module, self.state);
        module.call(Some(flight.now_ps), "on_sent", |guest| {
            guest.on_sent(state, sent, flight, grant)
        });
    }

    fn on_lost(&mut self, lost: &Lost, flight: &Flight) {
        let (module, state) = (&self.module, self.state);
        module.call(Some(flight.now_ps), "on_lost", |guest| {
            guest.on_lost(state, lost, flight)
        });
    }

    fn on_reduction(&mut self, cause: c_int, flight: &Flight, grant: &mut Grant) {
        let (module, state) = (&self.module, self.state);
        module.call(Some(flight.now_ps), "on_reduction", |guest| {
            guest.on_reduction(state, cause, flight, grant)
        });
    }

    fn on_recovered(&mut self, spurious: bool, flight: &Flight, grant: &mut Grant) {
        let (module, state) = (&self.module, self.state);
        module.call(Some(flight.now_ps), "on_recovered", |guest| {
            guest.on_recovered(state, c_int::from(spurious), flight, grant)
        });
    }
}

impl<E: Executor> Drop for SandboxedFlow<E> {
    fn drop(&mut self) {
        if self.state != 0 {
            self.module.call(None, "destroy", |guest| guest.destroy(self.state));
        }
    }
}
