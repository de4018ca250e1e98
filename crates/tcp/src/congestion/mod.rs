//! Congestion control: determines how much data may be in flight. Only this module writes cwnd and ssthresh. It has no
//! access to the sender.

pub mod control;
mod cube_root;
pub mod flight;
mod growth;
mod linux;
mod model;
pub mod pacing;
pub mod paper_or_linux;
pub mod path_model;
mod rfc;
mod sliding_minimum;
#[cfg(test)]
mod trial;
pub mod user;
mod window_adjustment;

use crate::variant::variants;
use control::{Ack, AckSample, Cause, Control, CwndUpdate, LostSegment, Pacing, Sent, Wants};
use flight::Flight;
pub use linux::bic::BicConfig;
pub use linux::dctcp::DctcpConfig;
pub use linux::htcp::HtcpConfig;
pub use linux::hybla::HyblaConfig;
pub use linux::hystart::HystartConfig;
pub use linux::illinois::IllinoisConfig;
pub use linux::reno::LinuxRenoConfig;
pub use linux::scalable::{ScalableConfig, ScalableRules};
pub use linux::vegas::{VegasConfig, VegasRules};
pub use linux::veno::VenoConfig;
pub use linux::westwood::WestwoodConfig;
pub use linux::yeah::YeahConfig;
pub use linux::DEFAULT_HZ;
use longpipe_events::{Span, Stream, Time};
pub use model::bbr::BbrConfig;
pub use model::bbr3::Bbr3Config;
pub use model::c4::{C4Config, C4Rules};
pub use model::copa::CopaConfig;
pub use model::prague::PragueConfig;
pub use model::scream::{ScreamConfig, ScreamRules, RATE_MARGIN as SCREAM_RATE_MARGIN};
pub use model::udp_prague::UdpPragueConfig;
use path_model::Model;
pub use rfc::aimd::AimdConfig;
pub use rfc::careful_resume::{CarefulResume, CarefulResumeConfig, Observed, PipeSize, SavedPath};
pub use rfc::cubic::{CubicConfig, CubicRules};
pub use rfc::highspeed::{HighspeedConfig, HighspeedRules};
pub use rfc::ledbat::LedbatConfig;
pub use rfc::ledbat_plus_plus::{LedbatPlusPlus, LedbatPlusPlusConfig};
pub use rfc::rapid_start::{RapidStart, RapidStartConfig};
pub use rfc::rate_limited::{RateLimited, RateLimitedConfig};
pub use user::ModuleConfig;
pub use window_adjustment::WindowAdjustment;

variants! {
    /// The congestion controller of one sender.
    Congestion, CongestionConfig, CongestionKind, each($);
    Aimd(rfc::aimd::Aimd);
    Bbr(Box<model::bbr::Bbr>);
    Bbr3(Box<model::bbr3::Bbr3>);
    Bic(Box<linux::bic::Bic>);
    C4(Box<model::c4::C4>);
    Copa(Box<model::copa::Copa>);
    Cubic(Box<rfc::cubic::Cubic>);
    Dctcp(Box<linux::dctcp::Dctcp>);
    Highspeed(Box<rfc::highspeed::Highspeed>);
    Htcp(Box<linux::htcp::Htcp>);
    Hybla(Box<linux::hybla::Hybla>);
    Illinois(Box<linux::illinois::Illinois>);
    Ledbat(Box<rfc::ledbat::Ledbat>);
    LedbatPlusPlus(Box<rfc::ledbat_plus_plus::LedbatPlusPlus>);
    LinuxReno(Box<linux::reno::LinuxReno>);
    Module(Box<user::Loaded>);
    Prague(Box<model::prague::Prague>);
    Scalable(Box<linux::scalable::Scalable>);
    Scream(Box<model::scream::Scream>);
    UdpPrague(Box<model::udp_prague::UdpPrague>);
    Vegas(Box<linux::vegas::Vegas>);
    Veno(Box<linux::veno::Veno>);
    Westwood(Box<linux::westwood::Westwood>);
    Yeah(Box<linux::yeah::Yeah>);
    @Resuming(Box<CarefulResume>): "Another controller, started with saved parameters of the path (RFC 9959).";
    @RapidStart(Box<RapidStart>): "Another controller, whose slow start may triple the window in each round trip.";
    @RateLimited(Box<RateLimited>): "Another controller, with another rule for growth while the window is not full.";
}

impl Congestion {
    /// Wraps the controller of a new connection so that it starts with saved parameters of the path. `paces` is true if
    /// the sender is paced at cwnd/srtt.
    pub fn resuming(self, config: &CarefulResumeConfig, paces: bool, initial_window: f64) -> Congestion {
        Congestion::Resuming(Box::new(CarefulResume::new(self, config, paces, initial_window)))
    }

    /// Wraps the controller of a new connection so that it uses Rapid Start. `paces` is true if the sender is paced at
    /// cwnd/srtt.
    pub fn starting_rapidly(self, rule: &RapidStartConfig, paces: bool, initial_window: f64) -> Congestion {
        Congestion::RapidStart(Box::new(RapidStart::new(self, *rule, paces, initial_window)))
    }

    /// Wraps the controller of a new connection so that its growth follows a rule while the window is not full.
    pub fn growing_by(self, rule: &RateLimitedConfig, initial_window: f64) -> Congestion {
        Congestion::RateLimited(Box::new(RateLimited::new(self, *rule, initial_window)))
    }

    /// Returns the state of Careful Resume, if it is used.
    pub fn careful_resume(&self) -> Option<&CarefulResume> {
        match self {
            Congestion::Resuming(resume) => Some(resume),
            _ => None,
        }
    }

    /// Passes the parameters that another connection has saved to the controller, if it uses Careful Resume.
    pub fn resume(&mut self, saved: SavedPath) {
        if let Congestion::Resuming(resume) = self {
            resume.resume(saved);
        }
    }

    /// Returns the update that an event causes, for the controller that wraps this one.
    pub fn update(
        &mut self,
        flight: &Flight,
        event: impl FnOnce(&mut Congestion, &mut Flight) -> Option<Pacing>,
    ) -> CwndUpdate {
        let mut flight = flight.clone();
        let pacing = event(self, &mut flight);
        CwndUpdate {
            window: flight.cwnd(),
            threshold: flight.ssthresh(),
            pacing,
        }
    }

    /// Returns the inputs that the controller needs in addition to ACKs and reductions.
    pub fn wants(&self) -> Wants {
        each!(self, controller => controller.wants())
    }

    /// Sets the random stream of the controller.
    pub fn draw_from(&mut self, draws: Stream) {
        each!(self, controller => controller.draw_from(draws));
    }

    /// Sets the ticks per second of the kernel's clock, for controllers that follow Linux's code.
    pub fn set_hz(&mut self, hz: u32) {
        each!(self, controller => controller.set_hz(hz));
    }

    /// Sets the idle time between the establishment of the connection and its first segment.
    pub fn set_preconnect(&mut self, idle: Span) {
        each!(self, controller => controller.set_preconnect(idle));
    }

    /// Sets whether the connection's packets are ECN-capable.
    pub fn set_ecn(&mut self, on: bool) {
        each!(self, controller => controller.set_ecn(on));
    }

    /// Returns the controller's model of the path, if it has one.
    pub fn model(&self) -> Option<Model> {
        each!(self, controller => controller.model())
    }

    /// Invoked before the first segment if an RTT is known. Like all handlers, it returns the new pacing rate if it
    /// changes.
    pub fn on_start(&mut self, rtt: Span, flight: &mut Flight) -> Option<Pacing> {
        take(each!(self, controller => controller.on_start(rtt, flight)), flight)
    }

    /// Returns whether the controller also sets the window during recovery.
    #[inline]
    pub fn owns_window(&self) -> bool {
        match self {
            Congestion::Module(module) => module.owns_window,
            Congestion::Resuming(resume) => resume.owns_window(),
            Congestion::RapidStart(start) => start.owns_window(),
            Congestion::RateLimited(limited) => limited.wrapped().is_some_and(Congestion::owns_window),
            other => other.kind().is_some_and(|kind| kind.facts().is_model),
        }
    }

    /// Reports a transmission.
    #[inline]
    pub fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        each!(self, controller => controller.on_sent(sent, flight))
    }

    /// Returns whether the controller needs only the number of acknowledged bytes of an ACK. True for AIMD, which most
    /// runs use and for which the sender has a faster path.
    #[inline(always)]
    pub fn needs_acked_bytes_only(&self) -> bool {
        matches!(self, Congestion::Aimd(_))
    }

    /// Increases the window for an ACK of `acked` bytes, for a controller for which `needs_acked_bytes_only` is true.
    #[inline(always)]
    pub fn on_plain_ack(&mut self, acked: u64, flight: &mut Flight) {
        if let Congestion::Aimd(aimd) = self {
            take(aimd.grown(acked, flight), flight);
        }
    }

    /// Reports an ACK before loss recovery processes it.
    #[inline]
    pub fn on_sample(&mut self, sample: &AckSample, flight: &mut Flight) -> Option<Pacing> {
        take(each!(self, controller => controller.on_sample(sample, flight)), flight)
    }

    /// Reports an ACK after loss recovery has processed it.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, flight: &mut Flight) -> Option<Pacing> {
        take(each!(self, controller => controller.on_ack(ack, flight)), flight)
    }

    /// Reports a transmission that was declared lost.
    pub fn on_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        each!(self, controller => controller.on_lost(lost, now, flight));
    }

    /// Requests a reduction of the window.
    pub fn on_reduction(&mut self, cause: Cause, now: Time, flight: &mut Flight) -> Option<Pacing> {
        take(
            each!(self, controller => controller.on_reduction(cause, now, flight)),
            flight,
        )
    }

    /// Reports the end of a recovery.
    pub fn on_recovered(&mut self, spurious: bool, now: Time, flight: &mut Flight) -> Option<Pacing> {
        take(
            each!(self, controller => controller.on_recovered(spurious, now, flight)),
            flight,
        )
    }
}

/// A controller whose updates are applied to the window at once: [`Congestion`], or one of its variants, for which the
/// sender's processing of in-order ACKs is compiled separately.
pub trait Controller {
    /// Reports an ACK before loss recovery processes it. Returns the new pacing rate if it changes.
    fn take_sample(&mut self, sample: &AckSample, flight: &mut Flight) -> Option<Pacing>;

    /// Reports an ACK after loss recovery has processed it. Returns the new pacing rate if it changes.
    fn take_ack(&mut self, ack: &Ack, flight: &mut Flight) -> Option<Pacing>;

    /// Returns whether `take_in_order` may be called instead of `take_sample` and `take_ack`.
    #[inline(always)]
    fn merges(&self) -> bool {
        false
    }

    /// Reports an in-order ACK, if `merges` returns true.
    #[inline(always)]
    fn take_in_order(&mut self, _sample: &AckSample, ack: &Ack, flight: &mut Flight) -> Option<Pacing> {
        self.take_ack(ack, flight)
    }
}

impl<C: Control> Controller for C {
    #[inline(always)]
    fn take_sample(&mut self, sample: &AckSample, flight: &mut Flight) -> Option<Pacing> {
        take(self.on_sample(sample, flight), flight)
    }

    #[inline(always)]
    fn take_ack(&mut self, ack: &Ack, flight: &mut Flight) -> Option<Pacing> {
        take(self.on_ack(ack, flight), flight)
    }

    #[inline(always)]
    fn merges(&self) -> bool {
        self.merges_reports()
    }

    #[inline(always)]
    fn take_in_order(&mut self, sample: &AckSample, ack: &Ack, flight: &mut Flight) -> Option<Pacing> {
        take(self.on_in_order_ack(sample, ack, flight), flight)
    }
}

impl Controller for Congestion {
    #[inline(always)]
    fn take_sample(&mut self, sample: &AckSample, flight: &mut Flight) -> Option<Pacing> {
        self.on_sample(sample, flight)
    }

    #[inline(always)]
    fn take_ack(&mut self, ack: &Ack, flight: &mut Flight) -> Option<Pacing> {
        self.on_ack(ack, flight)
    }
}

/// Evaluates an expression with a controller. The expression is compiled separately for the controllers that most senders
/// use, so that the properties of an ACK need not be stored in memory.
macro_rules! with_usual {
    ($congestion:expr, $controller:ident => $does:expr) => {
        match $congestion {
            $crate::congestion::Congestion::Bbr(bbr) => {
                let $controller = &mut **bbr;
                $does
            }
            $crate::congestion::Congestion::Cubic(cubic) => match &mut **cubic {
                $crate::congestion::paper_or_linux::Ruled::Linux($controller) => $does,
                $crate::congestion::paper_or_linux::Ruled::Paper($controller) => $does,
            },
            $controller => $does,
        }
    };
}
pub(crate) use with_usual;

/// Applies an update to the window. Returns the update's pacing rate, if any.
#[inline(always)]
fn take(update: CwndUpdate, flight: &mut Flight) -> Option<Pacing> {
    flight.limits.set(update.window, update.threshold);
    update.pacing
}
