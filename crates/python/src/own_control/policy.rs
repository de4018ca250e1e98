//! Policies of `longpipe.gym` that control flows outside an environment.

use super::InRun;
use longpipe_control::agent::{Agent, Policy, Row, Steering};
use longpipe_control::heartbeat;
use longpipe_control::monitor::Length;
use longpipe_events::Time;
use longpipe_tcp::congestion::user::{Controller, Plugin, Requirements};
use pyo3::prelude::*;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// Method of a policy that the core calls after each step.
const POLICY: &str = "factor";

/// A policy that serves as the plug-in of a flow.
#[derive(Clone, Debug)]
pub(super) struct SharedPolicy {
    pub run: Arc<InRun>,
    pub steering: Steering,
    /// Rate [bit/s] of the slowest link on the flow's route.
    pub slowest_bps: f64,
}

impl SharedPolicy {
    fn agent(&self) -> Agent {
        Agent::new(self.steering, self.run.class.base.clone(), self.slowest_bps)
    }
}

impl Plugin for SharedPolicy {
    fn requirements(&self) -> Requirements {
        self.agent().requirements()
    }

    fn connect(&self) -> Box<dyn Controller> {
        let policy = Box::new(PolicyObject {
            run: Arc::clone(&self.run),
            object: None,
        });
        let step = self.run.class.interval.unwrap_or(Length::RoundTrips(1.0));
        self.agent().with_policy(policy, step, Arc::clone(&self.run.complaints))
    }
}

/// The policy of one connection, an object of Python that is created at its first action.
#[derive(Debug)]
struct PolicyObject {
    run: Arc<InRun>,
    object: Option<Py<PyAny>>,
}

impl Policy for PolicyObject {
    fn factor(&mut self, row: &Row, at: Time) -> Option<f64> {
        if self.run.failed.load(Ordering::Relaxed) {
            return None;
        }
        Python::attach(|py| {
            let called = heartbeat::during(|| -> PyResult<f64> {
                if self.object.is_none() {
                    let created = self
                        .run
                        .class
                        .create
                        .call1(py, (self.run.parameters.clone(), 0, false))?;
                    let (object, _): (Py<PyAny>, usize) = created.extract(py)?;
                    self.object = Some(object);
                }
                let object = self.object.as_ref().map(|object| object.bind(py));
                let measured = numpy::PyArray1::from_slice(py, row);
                object.map_or(Ok(1.0), |object| object.call_method1(POLICY, (measured,))?.extract())
            });
            called.map_err(|error| self.run.fail(py, error, POLICY, at)).ok()
        })
    }
}
