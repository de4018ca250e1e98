//! Registry of the congestion controllers that users write as Python classes.
//!
//! `longpipe.controls.class_registration` registers the description of a class here under a digest, before the first
//! run that uses it. Scenarios refer to the class by that digest.

use crate::compiled::Compiled;
use crate::errors::ScenarioError;
use longpipe_control::agent::Steering;
use longpipe_control::base::Base;
use longpipe_control::monitor::Length;
use longpipe_control::requirements;
use longpipe_events::Span;
use longpipe_tcp::config::{CongestionConfig, TcpConfig};
use longpipe_tcp::congestion::control::Control;
use longpipe_tcp::congestion::user::Requirements;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use strum::{EnumCount, VariantNames};

/// Hooks that a class may have. Their names in Python are the names of the variants in snake case.
#[derive(Clone, Copy, Debug, EnumCount, VariantNames)]
#[expect(clippy::enum_variant_names, reason = "the names of the hooks in Python")]
#[strum(serialize_all = "snake_case")]
pub(super) enum Hook {
    /// The connection is established.
    OnStart,
    /// An ACK arrived.
    OnAck,
    /// A monitor interval ended.
    OnInterval,
    /// Duplicate ACKs or SACK blocks indicate a loss.
    OnLoss,
    /// ECN marks were echoed; without this hook, `OnLoss` is called.
    OnMark,
    /// The retransmission timer expired.
    OnTimeout,
    /// A recovery ended.
    OnRecovered,
    /// A recovery proved spurious.
    OnUndo,
    /// A segment was sent.
    OnSent,
    /// A transmission was declared lost.
    OnLost,
}

/// How a class implements a hook.
#[derive(Clone, Copy, Debug)]
pub(super) enum Implementation {
    /// The class does not define the hook.
    Absent,
    /// A method of the instance.
    Method,
    /// A compiled function, which accepts the address of the controller's state.
    Compiled(Compiled),
}

/// Description of a class by `longpipe.controls.class_registration`.
#[derive(Debug)]
pub(super) struct Class {
    /// Name of the class in messages.
    pub name: String,
    /// Creates the controller of a connection. The arguments are its parameters, a seed, and whether packets can be
    /// marked. Returns the controller and the address of its state.
    pub create: Py<PyAny>,
    /// Inputs that the class and its base congestion control need.
    pub requirements: Requirements,
    /// Length of the monitor intervals; None if the class does not define `on_interval`.
    pub interval: Option<Length>,
    /// Implementation of each hook, indexed by `Hook`.
    pub hooks: [Implementation; Hook::COUNT],
    /// Base congestion control of longpipe, which is used whenever a hook returns nothing.
    pub base: Option<CongestionConfig>,
    /// Quantity that a policy of `longpipe.gym` multiplies after each interval; None for other classes.
    pub steers: Option<Steering>,
}

/// Classes, indexed by the digest with which scenarios refer to them.
static CLASSES: Mutex<BTreeMap<String, Arc<Class>>> = Mutex::new(BTreeMap::new());

/// Names of the hooks that a controller may have.
#[pyfunction]
pub(crate) fn control_hooks() -> &'static [&'static str] {
    Hook::VARIANTS
}

/// Registers a class under its digest in this process.
///
/// `hooks` maps the names of the class's hooks to the addresses of compiled hooks, or to 0 for methods. `interval` is a
/// kind (time [s], round-trips or acks) and a number. `wants` are bits of `longpipe_control.h`. `base` is the resolved
/// `tcp` of a connection; its controller is used whenever a hook returns nothing. `steers` is "rate", "window" or "base"
/// for a policy, whose method `factor` accepts the measurements of a step.
#[pyfunction]
#[pyo3(signature = (digest, name, create, hooks, interval, wants, base, steers))]
#[expect(clippy::too_many_arguments, reason = "the arguments of a function of Python")]
pub(crate) fn register_class(
    digest: String,
    name: String,
    create: Py<PyAny>,
    hooks: HashMap<String, usize>,
    interval: Option<(String, f64)>,
    wants: u32,
    base: Option<&str>,
    steers: Option<&str>,
) -> PyResult<()> {
    let base = base.map(base_control).transpose()?;
    let interval = interval.as_ref().map(interval_length);
    let hooks = std::array::from_fn(|hook| match hooks.get(Hook::VARIANTS[hook]) {
        None => Implementation::Absent,
        Some(&address) => Compiled::at(address).map_or(Implementation::Method, Implementation::Compiled),
    });
    let requirements = with_base(requirements(wants), base.as_ref());
    let class = Class {
        name,
        create,
        requirements,
        interval,
        hooks,
        base,
        steers: steers.map(steering).transpose()?,
    };
    CLASSES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(digest, Arc::new(class));
    Ok(())
}

/// Returns the congestion control of a connection's resolved `tcp` table, given as JSON.
fn base_control(tcp_json: &str) -> PyResult<CongestionConfig> {
    let tcp: TcpConfig =
        serde_json::from_str(tcp_json).map_err(|error| ScenarioError::new_err(format!("base: {error}")))?;
    Ok(tcp.congestion)
}

/// Adds the inputs that the base congestion control needs to those of a class.
fn with_base(mut requirements: Requirements, base: Option<&CongestionConfig>) -> Requirements {
    if let Some(base) = base {
        requirements.wants = requirements.wants.or(Base::new(base).wants());
        requirements.owns_window |= base.facts().is_model;
        requirements.measures_delay |= base.facts().measures_delay;
    }
    requirements
}

/// Converts a kind ("time" [s], "round-trips" or "acks") and a number to the length of a monitor interval.
pub(crate) fn interval_length((kind, number): &(String, f64)) -> Length {
    match kind.as_str() {
        "time" => Length::Time(Span((number * 1e12).round() as u64)),
        "acks" => Length::Acks(*number as u64),
        _ => Length::RoundTrips(*number),
    }
}

/// Returns the quantity that actions change, by name.
pub(crate) fn steering(name: &str) -> PyResult<Steering> {
    match name {
        "rate" => Ok(Steering::Rate),
        "window" => Ok(Steering::Window),
        "base" => Ok(Steering::Base),
        _ => Err(PyValueError::new_err("steers: needs rate, window or base")),
    }
}

/// Returns the class with this digest, if one is registered.
pub(super) fn find(digest: &str) -> Option<Arc<Class>> {
    let classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
    classes.get(digest).map(Arc::clone)
}
