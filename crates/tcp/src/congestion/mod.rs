//! Congestion control: how much may be in flight. It alone writes the window; it never reaches into the sender.

mod aimd;
mod bbr;
mod bbr3;
mod bic;
pub mod control;
mod cube_root;
mod cubic;
mod dctcp;
mod growth;
mod highspeed;
mod htcp;
mod hybla;
mod hystart;
mod illinois;
mod ledbat;
pub mod limits;
mod linux;
mod linux_reno;
pub mod loaded;
mod max_filter;
pub mod reins;
mod ruled;
mod scalable;
pub mod stage;
#[cfg(test)]
mod trial;
mod vegas;
mod veno;
mod westwood;

use crate::flight::Flight;
use crate::variant::variants;
pub use aimd::AimdConfig;
pub use bbr::BbrConfig;
pub use bbr3::Bbr3Config;
pub use bic::BicConfig;
use control::{Ack, AckSample, Cause, Control, Grant, Lost, Pacing, Sent, Wants};
pub use cubic::{CubicConfig, CubicRules};
pub use dctcp::DctcpConfig;
pub use highspeed::{HighspeedConfig, HighspeedRules};
pub use htcp::HtcpConfig;
pub use hybla::HyblaConfig;
pub use hystart::HystartConfig;
pub use illinois::IllinoisConfig;
pub use ledbat::LedbatConfig;
pub use linux::DEFAULT_HZ;
pub use linux_reno::LinuxRenoConfig;
pub use loaded::ModuleConfig;
use longpipe_events::{Span, Stream, Time};
pub use scalable::{ScalableConfig, ScalableRules};
use stage::Model;
pub use vegas::{VegasConfig, VegasRules};
pub use veno::VenoConfig;
pub use westwood::WestwoodConfig;

variants! {
    /// The congestion control of one sender.
    Congestion, CongestionConfig, CongestionKind, each($);
    Aimd(aimd::Aimd): "Slow start and congestion avoidance (RFC 5681 section 3.1).";
    Bbr(Box<bbr::Bbr>): "By the bandwidth and the round trip that it measures (Cardwell et al. 2016).";
    Bbr3(Box<bbr3::Bbr3>): "BBR, version 3: losses bound its model of the path, too (draft-ietf-ccwg-bbr).";
    Bic(Box<bic::Bic>): "A search for the old maximum by halves (Xu, Harfoush and Rhee 2004).";
    Cubic(Box<cubic::Cubic>): "By a cubic of the time since the last reduction (RFC 9438).";
    Dctcp(Box<dctcp::Dctcp>): "By the share of marked data (RFC 8257).";
    Highspeed(Box<highspeed::Highspeed>): "Growth and cut by a table of windows (RFC 3649).";
    Htcp(Box<htcp::Htcp>): "The faster the longer no loss came (Leith and Shorten 2004).";
    Hybla(Box<hybla::Hybla>): "As a connection of 25 ms would grow (Caini and Firrincieli 2004).";
    Illinois(Box<illinois::Illinois>): "Growth and cut by the queueing delay (Liu, Başar and Srikant 2008).";
    Ledbat(Box<ledbat::Ledbat>): "The queueing delay of the way there held at a target (RFC 6817).";
    LinuxReno(Box<linux_reno::LinuxReno>): "Reno by the segments that arrive (tcp_cong.c).";
    Module(Box<loaded::Loaded>): "A controller from a file: a module of Linux, or a shared object of the user's own.";
    Scalable(Box<scalable::Scalable>): "Growth and cut in proportion to the window (Kelly 2003).";
    Vegas(Box<vegas::Vegas>): "By the queueing that round trips show (Brakmo and Peterson 1995).";
    Veno(Box<veno::Veno>): "Losses without queues cost less (Fu and Liew 2003).";
    Westwood(Box<westwood::Westwood>): "After a loss what the path took (Mascolo et al. 2004).";
}

impl CongestionConfig {
    /// Whether it uses one-way delays, which need timestamps.
    pub fn measures_delay(&self) -> bool {
        match self {
            CongestionConfig::Ledbat(_) => true,
            CongestionConfig::Module(module) => module.requirements().measures_delay,
            _ => false,
        }
    }

    /// Whether it has a rate of its own and moves the window during recovery, which needs a recovery that knows each loss.
    pub fn is_model(&self) -> bool {
        match self {
            CongestionConfig::Bbr(_) | CongestionConfig::Bbr3(_) => true,
            CongestionConfig::Module(module) => module.requirements().owns_window,
            _ => false,
        }
    }
}

impl Congestion {
    /// What it needs besides ACKs and reductions.
    pub fn wants(&self) -> Wants {
        each!(self, one => one.wants())
    }

    /// What it draws at random comes from there.
    pub fn draw_from(&mut self, draws: Stream) {
        each!(self, one => one.draw_from(draws));
    }

    /// Sets the ticks per second of the kernel's clock, for controllers that follow Linux's code.
    pub fn set_hz(&mut self, hz: u32) {
        each!(self, one => one.set_hz(hz));
    }

    /// Sets whether packets of the connection can be ECN-marked.
    pub fn set_ecn(&mut self, on: bool) {
        each!(self, one => one.set_ecn(on));
    }

    /// What it knows of the path, of one that has a model of it.
    pub fn model(&self) -> Option<Model> {
        each!(self, one => one.model())
    }

    /// A round trip is known before the first segment.
    pub fn on_start(&mut self, rtt: Span, flight: &mut Flight) -> Option<Pacing> {
        take(each!(self, one => one.on_start(rtt, flight)), flight)
    }

    /// Whether it moves the window during recovery, too.
    #[inline]
    pub fn owns_window(&self) -> bool {
        match self {
            Congestion::Bbr(_) | Congestion::Bbr3(_) => true,
            Congestion::Module(module) => module.owns_window,
            _ => false,
        }
    }

    /// A segment leaves; the rate of those after it, if it changes.
    pub fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        each!(self, one => one.on_sent(sent, flight))
    }

    /// Whether it asks nothing of an ACK but how much it acknowledged, as what most senders have does; for that one is
    /// faster.
    #[inline(always)]
    pub fn asks_little(&self) -> bool {
        matches!(self, Congestion::Aimd(_))
    }

    /// One that asks little lets the window grow by an ACK of `acked` bytes.
    #[inline(always)]
    pub fn on_plain_ack(&mut self, acked: u64, flight: &mut Flight) {
        if let Congestion::Aimd(aimd) = self {
            take(aimd.grown(acked, flight), flight);
        }
    }

    /// Reports an ACK before loss recovery processes it.
    pub fn on_sample(&mut self, sample: &AckSample, flight: &Flight) {
        each!(self, one => one.on_sample(sample, flight));
    }

    /// One ACK moves the window.
    pub fn on_ack(&mut self, ack: &Ack, flight: &mut Flight) -> Option<Pacing> {
        take(each!(self, one => one.on_ack(ack, flight)), flight)
    }

    /// A transmission is taken to be lost.
    pub fn on_lost(&mut self, lost: &Lost, now: Time, flight: &Flight) {
        each!(self, one => one.on_lost(lost, now, flight));
    }

    /// The window has to fall.
    pub fn on_reduction(&mut self, cause: Cause, now: Time, flight: &mut Flight) -> Option<Pacing> {
        take(each!(self, one => one.on_reduction(cause, now, flight)), flight)
    }

    /// A recovery ended.
    pub fn on_recovered(&mut self, spurious: bool, now: Time, flight: &mut Flight) -> Option<Pacing> {
        take(each!(self, one => one.on_recovered(spurious, now, flight)), flight)
    }
}

/// Makes a grant hold; returns the rate that it may bring.
#[inline(always)]
fn take(grant: Grant, flight: &mut Flight) -> Option<Pacing> {
    flight.limits.set(grant.window, grant.threshold);
    grant.pacing
}
