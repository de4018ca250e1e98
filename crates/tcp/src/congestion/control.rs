//! Interface between the sender and a congestion controller: the events that the controller receives, and the window
//! updates that it returns.

use crate::congestion::flight::Flight;
use crate::congestion::path_model::Model;
use crate::congestion::Congestion;
use longpipe_events::{Span, Stream, Time};

/// A congestion controller: computes cwnd, ssthresh and, optionally, a pacing rate. It has no access to the sender's
/// state other than `Flight`.
///
/// A controller may wrap another one. The methods that a wrapper does not define are those of the wrapped controller.
pub trait Control {
    /// Returns the controller that this one wraps, if any.
    fn wrapped(&self) -> Option<&Congestion> {
        None
    }

    /// Returns a mutable reference to the controller that this one wraps, if any.
    fn wrapped_mut(&mut self) -> Option<&mut Congestion> {
        None
    }

    /// Returns the inputs that the controller needs in addition to ACKs and reductions.
    fn wants(&self) -> Wants {
        self.wrapped().map_or_else(Wants::default, Congestion::wants)
    }

    /// Sets the random stream of the controller.
    fn draw_from(&mut self, draws: Stream) {
        if let Some(wrapped) = self.wrapped_mut() {
            wrapped.draw_from(draws);
        }
    }

    /// Returns the controller's model of the path, if it has one.
    fn model(&self) -> Option<Model> {
        self.wrapped().and_then(Congestion::model)
    }

    /// Sets the ticks per second of the kernel's clock, for controllers that follow Linux's code.
    fn set_hz(&mut self, hz: u32) {
        if let Some(wrapped) = self.wrapped_mut() {
            wrapped.set_hz(hz);
        }
    }

    /// Sets the idle time between the establishment of the connection and its first segment. Called before `set_ecn`.
    fn set_preconnect(&mut self, idle: Span) {
        if let Some(wrapped) = self.wrapped_mut() {
            wrapped.set_preconnect(idle);
        }
    }

    /// Sets whether the connection's packets are ECN-capable.
    fn set_ecn(&mut self, on: bool) {
        if let Some(wrapped) = self.wrapped_mut() {
            wrapped.set_ecn(on);
        }
    }

    /// Invoked before the first segment if a round-trip time is known from the handshake.
    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        match self.wrapped_mut() {
            Some(wrapped) => wrapped.update(flight, |wrapped, flight| wrapped.on_start(rtt, flight)),
            None => CwndUpdate::unchanged(flight),
        }
    }

    /// Invoked for each transmission and retransmission if `wants` requests `sending`. Returns the new pacing rate if
    /// it changes.
    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        self.wrapped_mut()?.on_sent(sent, flight)
    }

    /// Invoked for every ACK with SEG.ACK >= SND.UNA. With `rack`, this happens before loss recovery processes the ACK,
    /// and loss recovery uses the returned window and threshold; with any other recovery algorithm, it happens
    /// afterwards. `flight` already reflects the new SND.UNA.
    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) -> CwndUpdate {
        match self.wrapped_mut() {
            Some(wrapped) => wrapped.update(flight, |wrapped, flight| wrapped.on_sample(sample, flight)),
            None => CwndUpdate::unchanged(flight),
        }
    }

    /// Invoked for every ACK with SEG.ACK >= SND.UNA, after loss recovery has processed it. `flight` already reflects
    /// the new SND.UNA.
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate;

    /// Returns whether `on_in_order_ack` may be invoked instead of `on_sample` and `on_ack` for an in-order ACK, for which
    /// loss recovery does not use the window in between.
    #[inline(always)]
    fn merges_reports(&self) -> bool {
        false
    }

    /// Shortcut of `on_sample` followed by `on_ack`, if `merges_reports` returns true.
    #[inline(always)]
    fn on_in_order_ack(&mut self, _sample: &AckSample, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.on_ack(ack, flight)
    }

    /// Invoked for each transmission that is declared lost if `wants` requests `each_loss`. If this loss starts a
    /// recovery, `on_reduction` has been invoked before.
    fn on_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        if let Some(wrapped) = self.wrapped_mut() {
            wrapped.on_lost(lost, now, flight);
        }
    }

    /// Invoked once for each recovery, each timeout and each RTT with ECN marks. Returns the reduced window.
    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate;

    /// Invoked at the end of a recovery; `spurious` is true if no data had been lost. `on_ack` is then invoked for the
    /// ACK that ended the recovery.
    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        match self.wrapped_mut() {
            Some(wrapped) => wrapped.update(flight, |wrapped, flight| wrapped.on_recovered(spurious, now, flight)),
            None => CwndUpdate::unchanged(flight),
        }
    }
}

/// Inputs that only some congestion controllers or loss recovery algorithms need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Per-transmission records, from which RTT samples and delivered bytes are computed.
    pub records: bool,
    /// Delivery rate samples, which need records.
    pub rates: bool,
    /// Whether `on_sent` is called for each transmission.
    pub sending: bool,
    /// Loss marks in the records, which only loss recovery needs.
    pub losses: bool,
    /// Pacing at the rate that the controller returns.
    pub pacing: bool,
    /// Whether `on_lost` is called for each lost transmission.
    pub each_loss: bool,
}

impl Wants {
    /// Per-transmission records only.
    pub const RECORDS: Wants = Wants {
        records: true,
        rates: false,
        sending: false,
        losses: false,
        pacing: false,
        each_loss: false,
    };

    /// Returns the union of two sets of inputs.
    pub fn or(self, other: Wants) -> Wants {
        Wants {
            records: self.records | other.records,
            rates: self.rates | other.rates,
            sending: self.sending | other.sending,
            losses: self.losses | other.losses,
            pacing: self.pacing | other.pacing,
            each_loss: self.each_loss | other.each_loss,
        }
    }

    /// Returns whether nothing is requested.
    pub fn is_nothing(self) -> bool {
        self == Wants::default()
    }
}

/// A transmission.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Departure time.
    pub now: Time,
    /// First byte.
    pub sequence: u64,
    /// First byte after the segment.
    pub end: u64,
    /// Whether the segment contains retransmitted data.
    pub retransmission: bool,
    /// Bytes in flight, including this segment.
    pub in_flight: u64,
    /// Whether the application, not the window, limits the data in flight. Valid only if records are kept.
    pub app_limited: bool,
}

/// State of the loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// No loss is being repaired.
    #[default]
    Open,
    /// Fast recovery.
    Recovery,
    /// Recovery after a retransmission timeout.
    Loss,
}

/// Properties of an ACK for `on_sample`: before `rack` processes the ACK, or after any other loss recovery has
/// processed it.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Arrival time of the ACK.
    pub now: Time,
    /// Bytes by which SND.UNA advanced; 0 for a duplicate ACK.
    pub acked: u64,
    /// Bytes newly known to have arrived, including those reported by SACK blocks.
    pub delivered: u64,
    /// Bytes among `delivered` that arrived with an ECN mark, as reported by the receiver.
    pub marked: u64,
    /// RTT sample of the most recently sent segment that the ACK acknowledges; None if it was retransmitted.
    pub rtt: Option<Span>,
    /// Whether the ACK carries SACK blocks.
    pub has_sack_blocks: bool,
    /// Whether the sender is paced (Linux: `sk_pacing_status`).
    pub paced: bool,
    /// One-way delay of the segment whose timestamp the ACK echoes. Present only if the controller requests it.
    pub delay: Option<Span>,
    /// Bytes delivered since the transmission of the most recently sent segment that the ACK acknowledges. Present only
    /// with `rates`.
    pub delivered_since_sent: Option<u64>,
}

/// Properties of an ACK for `on_ack`, after loss recovery has processed the ACK.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Arrival time of the ACK.
    pub now: Time,
    /// Bytes by which SND.UNA advanced; 0 for a duplicate ACK.
    pub acked: u64,
    /// Whether the window may grow on this ACK; false during a recovery.
    pub grows: bool,
    /// Whether the sender is in Linux's Open state: no data are known to be lost or reordered.
    pub open: bool,
    /// State, after this ACK, of a loss recovery that keeps records.
    pub phase: RecoveryPhase,
    /// Bytes newly known to have arrived; if records are kept, these include bytes reported by SACK blocks.
    pub delivered: u64,
    /// Bytes lost, as in `AckSummary::lost`; 0 without per-segment records.
    pub lost: u64,
    /// Bytes that arrived with an ECN mark, as reported by the receiver.
    pub marked: u64,
    /// Bytes in flight before this ACK.
    pub in_flight_before: u64,
    /// Bytes in flight after this ACK.
    pub in_flight: u64,
    /// cwnd [byte] when the ACK arrived, before loss recovery changed it.
    pub cwnd: f64,
    /// Whether cwnd had no room for another segment when the ACK arrived.
    pub window_limited: bool,
    /// Usage of cwnd in the latest round.
    pub usage: Usage,
    /// RTT sample. With records, it is taken from the last segment newly SACKed or acknowledged (Linux: `ca_rtt_us`),
    /// even on duplicate ACKs. Otherwise it is taken from the segment being timed.
    pub rtt: Option<Span>,
    /// RTT sample of the retransmission timer, from which `srtt` is computed. It includes the receiver's delay of the
    /// ACK (Linux: `seq_rtt_us`).
    pub seq_rtt: Option<Span>,
    /// Smoothed round-trip time of the retransmission timer.
    pub srtt: Option<Span>,
    /// Minimum RTT sample of the connection.
    pub least_rtt: Option<Span>,
    /// One-way delay of the segment whose timestamp the ACK echoes, including the receiver's delay of the ACK. Present
    /// only if the controller requests it.
    pub delay: Option<Span>,
    /// Delivery rate sample. Present only with `rates`.
    pub rate: Option<RateSample>,
    /// Time until the pacer releases the next segment.
    pub held: Span,
    /// Whether the sender is paced (Linux: `sk_pacing_status`).
    pub paced: bool,
    /// Whether the ACK shows reordering: a segment that was sent once was delivered after a segment sent later. Present
    /// only if records are kept.
    pub reordered: bool,
}

/// Usage of cwnd during one round: maximum number of bytes in flight (Linux: tcp_cwnd_validate).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Whether the window was full at any time.
    pub full: bool,
    /// Maximum number of bytes in flight; meaningful only if the window was never full.
    pub most: u64,
    /// End of the round: SND.MAX when it began.
    end: u64,
    /// SND.MAX at the latest update.
    sent: u64,
}

impl Usage {
    /// Returns a cwnd usage with the given values, in a round that has ended.
    pub fn of(full: bool, most: u64) -> Usage {
        Usage {
            full,
            most,
            ..Usage::default()
        }
    }

    /// Updates the usage on an ACK. `in_flight` is the number of bytes in flight before the ACK, `sent` is SND.MAX, and
    /// `una` the new SND.UNA; `full` indicates that the window had no room for another segment.
    #[inline]
    pub fn on_ack(&mut self, una: u64, sent: u64, in_flight: u64, full: bool) {
        if sent == self.sent && !full {
            return;
        }
        if una >= self.end || full || (!self.full && in_flight > self.most) {
            (self.full, self.most, self.end) = (full, in_flight, sent);
        }
        self.sent = sent;
    }
}

/// Delivery rate sample: data delivered since the transmission of the latest segment that the ACK acknowledges (Cheng
/// et al., draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Number of bytes delivered in `interval`.
    pub delivered: u64,
    /// The longer of two intervals: the interval in which these bytes were sent, and the interval in which they were
    /// acknowledged.
    pub interval: Span,
    /// Total bytes delivered before the segment was sent.
    pub prior_delivered: u64,
    /// Bytes in flight when the segment was sent, including the segment.
    pub tx_in_flight: u64,
    /// Bytes declared lost since it was sent.
    pub lost: u64,
    /// Whether the application, not the window, limited the data in flight when the segment was sent.
    pub app_limited: bool,
}

/// A transmission that is declared lost, and the sender's state when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// First byte.
    pub sequence: u64,
    /// First byte after the segment.
    pub end: u64,
    /// Bytes in flight when the segment was sent, including the segment.
    pub tx_in_flight: u64,
    /// Bytes declared lost since it was sent, including the segment.
    pub lost: u64,
    /// Total bytes delivered before it was sent.
    pub prior_delivered: u64,
    /// Whether the application, not the window, limited the data in flight when the segment was sent.
    pub app_limited: bool,
    /// Total bytes delivered up to now.
    pub delivered: u64,
}

/// Cause of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A loss was detected by duplicate ACKs, SACK or RACK.
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// The receiver reported ECN marks.
    Mark {
        /// ABE: a mark reduces the window less than a loss does (RFC 8511).
        abe: bool,
    },
}

/// Output of a congestion controller: the new cwnd and ssthresh, and the pacing rate if it changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CwndUpdate {
    /// Congestion window [byte].
    pub window: f64,
    /// Slow start threshold [byte].
    pub threshold: f64,
    /// New pacing rate. None leaves it unchanged. Until a first rate is set, segments are sent when ACKs arrive.
    pub pacing: Option<Pacing>,
}

/// Pacing parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Rate of the payload [bit/s].
    pub rate_bps: u64,
    /// Maximum burst [byte].
    pub quantum_bytes: u32,
}

impl CwndUpdate {
    /// Returns an update that changes nothing.
    #[inline(always)]
    pub fn unchanged(flight: &Flight) -> CwndUpdate {
        CwndUpdate::window(flight.cwnd(), flight)
    }

    /// Returns an update of the window with an unchanged threshold.
    #[inline(always)]
    pub fn window(window: f64, flight: &Flight) -> CwndUpdate {
        CwndUpdate {
            window,
            threshold: flight.ssthresh(),
            pacing: None,
        }
    }

    /// Returns the update for a reduction: `threshold` becomes ssthresh and cwnd; after a timeout cwnd is one segment
    /// (RFC 5681 section 3.1).
    pub fn reduced(cause: Cause, threshold: f64, flight: &Flight) -> CwndUpdate {
        CwndUpdate {
            window: if cause == Cause::Timeout {
                flight.mss()
            } else {
                threshold
            },
            threshold,
            pacing: None,
        }
    }
}
