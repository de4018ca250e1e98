//! Operations of a loaded controller, which the processor (shared objects) or an interpreter (WebAssembly modules)
//! executes.

use crate::complaints::Complaints;
use longpipe_events::{Span, Stream};
use longpipe_plugin::table::{Ack, Flight, Grant, Lost, Sample, Sent};
use longpipe_tcp::congestion::control::Wants;
use longpipe_tcp::congestion::user::{Plugin, Requirements};
use std::ffi::c_int;
use std::fmt::Debug;

/// A loaded controller of one simulation, whose parameters have been set.
pub trait Object: Plugin {
    /// Returns the facts that do not change during a run.
    fn about(&self) -> &About;

    /// Returns one line that says why the controller failed; None if it did not fail, or if its failure ended the
    /// process.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// Facts about a controller that do not change during a run, and the warnings about it.
#[derive(Debug)]
pub struct About {
    /// Name that the controller reports.
    pub name: String,
    /// Name of the file in messages to the user.
    pub file: String,
    /// Optional inputs.
    pub requirements: Requirements,
    pub(crate) complaints: Complaints,
    /// Whether the controller has `on_acked` or `on_sample`, whether it has `on_sent`, and whether it has `on_lost`;
    /// the arguments of these operations take time to compute.
    pub(crate) has_on_acked_or_sample: bool,
    pub(crate) has_on_sent: bool,
    pub(crate) has_on_lost: bool,
}

impl About {
    /// Returns one line for each kind of value that was out of range and therefore replaced.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.lines()
    }
}

/// Operations on one connection. On entry, `grant` contains the current window, threshold and pacing rate.
pub(crate) trait Operations: Debug + Send {
    /// Returns the facts that do not change during a run.
    fn about(&self) -> &About;

    /// Creates the state of a connection that is idle for `preconnect` before it sends its first segment.
    fn create(&mut self, ecn: bool, preconnect: Span);

    /// Sets the random stream of the connection.
    fn draw_from(&mut self, draws: Stream);

    fn on_start(&mut self, rtt_ps: u64, flight: &Flight, grant: &mut Grant);
    fn on_acked(&mut self, sample: &Sample, flight: &Flight, grant: &mut Grant);
    fn on_ack(&mut self, ack: &Ack, flight: &Flight, grant: &mut Grant);
    fn on_sent(&mut self, sent: &Sent, flight: &Flight, grant: &mut Grant);
    fn on_lost(&mut self, lost: &Lost, flight: &Flight);
    fn on_reduction(&mut self, cause: c_int, flight: &Flight, grant: &mut Grant);
    fn on_recovered(&mut self, spurious: bool, flight: &Flight, grant: &mut Grant);
}

/// Returns the inputs that are requested by the bits of `wants` in `longpipe_control.h`.
pub fn requirements(wanted: u32) -> Requirements {
    use longpipe_plugin::wants;
    let has = |bit: u32| wanted & bit != 0;
    Requirements {
        wants: Wants {
            records: has(wants::RECORDS | wants::RATES | wants::LOSSES),
            rates: has(wants::RATES),
            sending: has(wants::SENDING),
            losses: false,
            pacing: has(wants::PACING),
            each_loss: has(wants::LOSSES),
        },
        owns_window: has(wants::OWNS_WINDOW),
        measures_delay: has(wants::DELAYS),
    }
}
