//! What a congestion control hears, and what it answers.

use super::stage::Model;
use crate::flight::Flight;
use longpipe_events::{Span, Stream, Time};

/// A congestion control: it says how much may be in flight, and never reaches into the sender.
pub trait Control {
    /// What it needs besides ACKs and reductions.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// What it draws at random comes from there.
    fn draw_from(&mut self, _draws: Stream) {}

    /// What it knows of the path, if it has a model of it.
    fn model(&self) -> Option<Model> {
        None
    }

    /// Sets the ticks per second of the kernel's clock, for controllers that follow Linux's code.
    fn set_hz(&mut self, _hz: u32) {}

    /// Sets whether packets of the connection can be ECN-marked.
    fn set_ecn(&mut self, _on: bool) {}

    /// A round trip is known before the first segment.
    fn on_start(&mut self, _rtt: Span, flight: &Flight) -> Grant {
        Grant::as_it_is(flight)
    }

    /// A segment leaves, the first time or again; only where `wants` asks for it. The rate of those after it, if it changes.
    fn on_sent(&mut self, _sent: &Sent, _flight: &Flight) -> Option<Pacing> {
        None
    }

    /// Invoked for every ACK with SEG.ACK >= SND.UNA, before the loss recovery `rack` processes it (after others do). `flight`
    /// already reflects the new SND.UNA.
    fn on_sample(&mut self, _sample: &AckSample, _flight: &Flight) {}

    /// Invoked for every ACK with SEG.ACK >= SND.UNA, after loss recovery has processed it. `flight` already reflects the
    /// new SND.UNA.
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Grant;

    /// A transmission is taken to be lost; only where `wants` asks for it. If a recovery begins by it, `on_reduction` came before.
    fn on_lost(&mut self, _lost: &Lost, _now: Time, _flight: &Flight) {}

    /// The window has to fall, once for each recovery, timeout or round of marks.
    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> Grant;

    /// A recovery ended; `spurious` if nothing had been lost. The ACK that ended it follows.
    fn on_recovered(&mut self, _spurious: bool, _now: Time, flight: &Flight) -> Grant {
        Grant::as_it_is(flight)
    }
}

/// What only some controls or recoveries need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// A record of every transmission, from which round trips and what was delivered are told.
    pub records: bool,
    /// At which rate, too.
    pub rates: bool,
    /// To hear of every transmission.
    pub sending: bool,
    /// To know of each record whether it is lost, which only a recovery wants.
    pub losses: bool,
    /// Segments to leave at the rate of its grants.
    pub pacing: bool,
    /// To hear of each loss.
    pub each_loss: bool,
}

impl Wants {
    /// A record of every transmission.
    pub const RECORDS: Wants = Wants {
        records: true,
        rates: false,
        sending: false,
        losses: false,
        pacing: false,
        each_loss: false,
    };

    /// What either wants.
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

    /// Whether that is nothing.
    pub fn is_nothing(self) -> bool {
        self == Wants::default()
    }
}

/// A transmission.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it leaves.
    pub now: Time,
    /// First byte.
    pub sequence: u64,
    /// First byte after it.
    pub end: u64,
    /// Whether any of it was sent before.
    pub again: bool,
    /// Bytes under way, itself included.
    pub in_flight: u64,
    /// Whether the application, not the window, says how much is under way; where records are kept.
    pub app_limited: bool,
}

/// Where a sender is between losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is lost.
    #[default]
    Open,
    /// Repairs losses.
    Recovery,
    /// Likewise after the retransmission timer expired.
    Loss,
}

/// What one ACK reports, apart from what loss recovery makes of it.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When the ACK arrived.
    pub now: Time,
    /// Bytes by which SND.UNA advanced; 0 for a duplicate.
    pub acked: u64,
    /// Bytes newly known to have arrived, including those reported by SACK blocks.
    pub delivered: u64,
    /// Bytes among `delivered` that arrived with an ECN mark, as far as the receiver reports.
    pub marked: u64,
    /// RTT sample of the latest segment acknowledged; none from retransmitted segments.
    pub rtt: Option<Span>,
    /// Whether the ACK carries SACK blocks.
    pub has_sack_blocks: bool,
    /// One-way delay of the segment whose timestamp the ACK echoes, where the controller measures it.
    pub delay: Option<Span>,
    /// Bytes delivered since the latest acknowledged segment left, where rates are requested.
    pub delivered_since_sent: Option<u64>,
}

/// What one ACK tells.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it came.
    pub now: Time,
    /// Bytes that it acknowledged; none: a duplicate.
    pub acked: u64,
    /// Whether the window may grow by it; within a recovery it may not.
    pub grows: bool,
    /// Whether nothing is known to be lost or out of order.
    pub open: bool,
    /// Where the sender is after it, as far as its recovery goes by records.
    pub phase: Phase,
    /// Bytes newly known to have arrived, by SACK blocks too where records are kept.
    pub delivered: u64,
    /// Bytes that were sent again since the ACK before; 0 without records.
    pub lost: u64,
    /// Bytes that arrived marked, as far as the receiver says.
    pub marked: u64,
    /// Bytes under way before it.
    pub in_flight_before: u64,
    /// Bytes under way after it.
    pub in_flight: u64,
    /// Window as it stood when it came [byte], before recovery moved it.
    pub cwnd: f64,
    /// Whether that had left no room for a segment more.
    pub window_limited: bool,
    /// How far the latest window was used.
    pub usage: Usage,
    /// RTT sample: where records are kept, of the last segment newly SACKed or acknowledged (Linux: `ca_rtt_us`), also on duplicate
    /// ACKs; else of the one segment that is timed.
    pub rtt: Option<Span>,
    /// Smoothed round trip of the retransmission timer.
    pub srtt: Option<Span>,
    /// Shortest of all that were measured.
    pub least_rtt: Option<Span>,
    /// One-way delay of the segment whose timestamp it echoes, up to when the ACK left, where the control measures it.
    pub delay: Option<Span>,
    /// At which rate data arrives, where that is asked for.
    pub rate: Option<RateSample>,
    /// For how long the pacing rate holds the next segment back.
    pub held: Span,
    /// Whether segments leave at a pacing rate (Linux: `sk_pacing_status`).
    pub paced: bool,
}

/// How far a window was used, by the most that was under way in it (tcp_cwnd_validate).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Whether it was used up at any time.
    pub full: bool,
    /// Most bytes under way, if not.
    pub most: u64,
    /// First byte after it.
    end: u64,
    /// First byte never sent when this was told last.
    sent: u64,
}

impl Usage {
    /// That of a window in tests.
    #[cfg(test)]
    pub fn of(full: bool, most: u64) -> Usage {
        Usage {
            full,
            most,
            ..Usage::default()
        }
    }

    /// An ACK came, before which so much was under way and `sent` bytes were sent in all, and after which `una` are acknowledged.
    #[inline]
    pub fn on_ack(&mut self, una: u64, sent: u64, under_way: u64, full: bool) {
        if sent == self.sent && !full {
            return;
        }
        if una >= self.end || full || (!self.full && under_way > self.most) {
            (self.full, self.most, self.end) = (full, under_way, sent);
        }
        self.sent = sent;
    }
}

/// Data delivered over a time, from the transmission of the latest segment that the ACK tells of (Cheng et al.,
/// draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered meanwhile.
    pub delivered: u64,
    /// The longer of the times in which they were sent and were acknowledged.
    pub interval: Span,
    /// Bytes delivered in all before the segment left.
    pub prior_delivered: u64,
    /// Bytes under way when it left, itself included.
    pub tx_in_flight: u64,
    /// Bytes taken to be lost since it left.
    pub lost: u64,
    /// Whether the application said then how much was under way.
    pub app_limited: bool,
}

/// A transmission that is taken to be lost, and how things stood when it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// First byte.
    pub sequence: u64,
    /// First byte after it.
    pub end: u64,
    /// Bytes under way when it left, itself included.
    pub tx_in_flight: u64,
    /// Bytes taken to be lost since it left, itself included.
    pub lost: u64,
    /// Bytes delivered in all before it left.
    pub prior_delivered: u64,
    /// Whether the application said then how much was under way.
    pub app_limited: bool,
    /// Bytes delivered in all by now.
    pub delivered: u64,
}

/// Why the window falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate ACKs told of a loss.
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// Data arrived marked.
    Mark {
        /// It costs less of the window than a loss (RFC 8511).
        abe: bool,
    },
}

/// How much may be in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grant {
    /// Congestion window [byte].
    pub window: f64,
    /// Slow start threshold [byte].
    pub threshold: f64,
    /// At which rate segments leave; none: as it was, at the start as ACKs come.
    pub pacing: Option<Pacing>,
}

/// A rate at which segments leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Payload [bit/s].
    pub rate_bps: u64,
    /// What leaves at once [byte].
    pub quantum_bytes: u32,
}

impl Grant {
    /// What holds already.
    #[inline(always)]
    pub fn as_it_is(flight: &Flight) -> Grant {
        Grant::window(flight.cwnd(), flight)
    }

    /// Another window, within the receiver's.
    #[inline(always)]
    pub fn window(window: f64, flight: &Flight) -> Grant {
        Grant {
            window,
            threshold: flight.ssthresh(),
            pacing: None,
        }
    }

    /// After a reduction to `threshold`: that window, or a segment after a timeout (RFC 5681 section 3.1).
    pub fn reduced(cause: Cause, threshold: f64, flight: &Flight) -> Grant {
        Grant {
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
