//! Congestion controllers that are loaded at run time: a kernel module or a user's shared object.
//!
//! This crate has no access to files. The reader of a scenario puts a [`Plugin`] into the [`Slot`] of each
//! [`ModuleConfig`] before the simulation begins (crates/control).

use crate::congestion::control::{Ack, AckSample, Cause, Control, CwndUpdate, LostSegment, Pacing, Sent, Wants};
use crate::congestion::flight::Flight;
use crate::described::Described;
use crate::problem::Problem;
use crate::variant::{Facts, Parameters, Variant};
use longpipe_events::{Span, Stream, Time};
use longpipe_json::FromJson;
use serde::Serialize;
use std::fmt::Debug;
use std::sync::Arc;

/// A loaded object that creates a controller for each connection of a simulation.
pub trait Plugin: Debug + Send + Sync {
    /// Returns the inputs that its controllers use.
    fn requirements(&self) -> Requirements;

    /// Creates the controller of one connection.
    fn connect(&self) -> Box<dyn Controller>;
}

/// A controller of one connection whose type is not known at compile time.
pub trait Controller: Control + Debug + Send {
    /// Clones the controller with its state, for a clone of the simulation.
    fn boxed_clone(&self) -> Box<dyn Controller>;
}

/// Inputs that the controllers of a plug-in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Inputs other than ACKs and reductions.
    pub wants: Wants,
    /// Whether the controller also sets the window during recovery.
    pub owns_window: bool,
    /// Whether the controller uses one-way delays, which need timestamps.
    pub measures_delay: bool,
}

/// A plug-in in a configuration; None until it is loaded.
#[derive(Clone, Debug, Default)]
pub struct Slot(pub Option<Arc<dyn Plugin>>);

impl PartialEq for Slot {
    fn eq(&self, right: &Slot) -> bool {
        match (&self.0, &right.0) {
            (Some(left), Some(right)) => Arc::ptr_eq(left, right),
            (left, right) => left.is_none() && right.is_none(),
        }
    }
}

/// A controller from a file, identified by the digest of its source.
#[derive(Clone, Debug, Default, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct ModuleConfig {
    /// SHA-256 of the source and of longpipe's header [64 hex digits].
    #[field(skip)]
    pub digest: String,
    /// Names and values of the parameters that are set.
    #[field(skip)]
    pub parameters: Vec<(String, String)>,
    /// Ticks per second of the kernel's clock.
    #[field(skip)]
    pub hz: u32,
    /// The loaded object.
    #[serde(skip)]
    #[field(skip)]
    pub plugin: Slot,
}

impl ModuleConfig {
    /// Returns the inputs that the plug-in uses; there are none before it is loaded.
    pub fn requirements(&self) -> Requirements {
        self.plugin
            .0
            .as_ref()
            .map_or(Requirements::default(), |plugin| plugin.requirements())
    }
}

impl Parameters for ModuleConfig {
    const FACTS: Facts = Facts {
        draws: true,
        ..Facts::DEFAULT
    };

    fn facts(&self) -> Facts {
        let requirements = self.requirements();
        Facts {
            is_model: requirements.owns_window,
            measures_delay: requirements.measures_delay,
            ..Self::FACTS
        }
    }

    fn problem(&self) -> Option<Problem> {
        self.plugin.0.is_none().then(|| {
            let accepted = "needs a build of longpipe that loads modules, and the module's file on this machine";
            Problem::new("kind", "module", accepted)
        })
    }
}

/// The controller of one connection.
#[derive(Debug)]
pub struct Loaded {
    controller: Box<dyn Controller>,
    /// Whether the controller also sets the window during recovery.
    pub owns_window: bool,
}

impl Clone for Loaded {
    fn clone(&self) -> Loaded {
        Loaded {
            controller: self.controller.boxed_clone(),
            owns_window: self.owns_window,
        }
    }
}

impl Variant for Loaded {
    type Config = ModuleConfig;

    fn new(config: &ModuleConfig) -> Loaded {
        let plugin = config.plugin.0.as_ref().expect("`problem` refuses an empty slot");
        Loaded {
            controller: plugin.connect(),
            owns_window: plugin.requirements().owns_window,
        }
    }
}

impl Control for Loaded {
    fn wants(&self) -> Wants {
        self.controller.wants()
    }

    fn draw_from(&mut self, draws: Stream) {
        self.controller.draw_from(draws);
    }

    fn set_preconnect(&mut self, idle: Span) {
        self.controller.set_preconnect(idle);
    }

    fn set_hz(&mut self, hz: u32) {
        self.controller.set_hz(hz);
    }

    fn set_ecn(&mut self, on: bool) {
        self.controller.set_ecn(on);
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        self.controller.on_start(rtt, flight)
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        self.controller.on_sent(sent, flight)
    }

    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) -> CwndUpdate {
        self.controller.on_sample(sample, flight)
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.controller.on_ack(ack, flight)
    }

    fn on_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        self.controller.on_lost(lost, now, flight);
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        self.controller.on_reduction(cause, now, flight)
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        self.controller.on_recovered(spurious, now, flight)
    }
}
