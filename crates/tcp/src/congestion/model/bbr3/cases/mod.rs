//! The test cases of the draft (appendix "BBR Example Test Cases"), each with a sender and a path with one queue.

mod paths;
mod recoveries;
mod states;

use super::*;
use crate::config::tests::config;
use crate::config::{RackConfig, RecoveryConfig, TcpConfig, TimerConfig};
use crate::congestion::{Congestion, CongestionConfig};
use crate::{AckSegment, DataSegment, Receiver, Sender};
use std::collections::BTreeMap;

const MSS: u64 = 1000;
const WINDOW: u64 = 1 << 30;
/// Number of segments that a greedy application keeps ready.
const READY: u64 = 64;

/// An event of the path or the application.
#[derive(Clone, Debug)]
enum PathEvent {
    Data(DataSegment),
    Ack(AckSegment),
    /// The application writes.
    Writes,
}

/// Behavior of the application.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Application {
    Greedy,
    /// Writes a number of segments per interval.
    Writes(u64, Span),
    Pauses,
}

/// Token bucket that drops packets without tokens: rate [byte/s], bucket size [byte], current tokens [byte], and time
/// of their last update.
#[derive(Clone, Copy, Debug)]
struct Policer {
    rate: f64,
    most: f64,
    tokens: f64,
    since: Time,
}

/// A connection and its path.
struct Flow {
    sender: Sender,
    receiver: Receiver,
    due: BTreeMap<(Time, u64), PathEvent>,
    now: Time,
    count: u64,
    /// Rate of the bottleneck link [byte/s], time at which the link becomes free, and buffer size [byte].
    rate: f64,
    free_at: Time,
    room: f64,
    /// Propagation delay from the bottleneck link to the receiver and back.
    way: Span,
    /// One in this many segments is lost; 0 means none.
    lost_in: u64,
    /// One in this many segments is delayed, by the given time; 0 means none.
    late: (u64, Span),
    /// ACKs arrive only at multiples of this time.
    ack_gap: Option<Span>,
    policer: Option<Policer>,
    application: Application,
    sent: u64,
    dropped: u64,
    received: u64,
}

impl Flow {
    /// Creates a flow over a link with the given rate [Mbit/s], base RTT [ms] and buffer size [segment].
    fn over(rate_mbps: f64, round_trip_ms: u64, room: u64) -> Flow {
        let config = TcpConfig {
            recovery: RecoveryConfig::Rack(RackConfig {
                blocks: 3,
                probe: true,
                undo: true,
                dsack: false,
                frto: false,
                successive: false,
            }),
            congestion: CongestionConfig::Bbr3(Bbr3Config {}),
            mss_bytes: MSS as u32,
            receiver_window_bytes: WINDOW,
            window_scale: TcpConfig::least_window_scale(WINDOW),
            initial_window_segments: 10,
            timer: TimerConfig::Fine {
                granularity_ps: Span::millis(200).0,
                min_rto_ps: Span::millis(200).0,
                max_rto_ps: Span::seconds(60).0,
                initial_rto_ps: Span::seconds(1).0,
                timestamps: true,
            },
            ..config()
        };
        Flow {
            sender: Sender::new(&config, Span(0)),
            receiver: Receiver::new(&config),
            due: BTreeMap::from([((Time::ZERO, 0), PathEvent::Writes)]),
            now: Time::ZERO,
            count: 0,
            rate: rate_mbps * 1e6 / 8.0,
            free_at: Time::ZERO,
            room: (room * MSS) as f64,
            way: Span(Span::millis(round_trip_ms).0 / 2),
            lost_in: 0,
            late: (0, Span(0)),
            ack_gap: None,
            policer: None,
            application: Application::Greedy,
            sent: 0,
            dropped: 0,
            received: 0,
        }
    }

    fn bbr(&self) -> &Bbr3 {
        match self.sender.congestion() {
            Congestion::Bbr3(bbr) => bbr,
            _ => unreachable!("its control is BBR"),
        }
    }

    fn state(&self) -> State {
        self.bbr().state
    }

    fn cwnd(&self) -> f64 {
        self.sender.flight().cwnd()
    }

    /// Returns the BDP of the path [byte].
    fn bdp(&self) -> f64 {
        self.rate * 2.0 * self.way.as_seconds()
    }

    /// Changes the rate of the link; queued packets stay in the queue.
    fn set_rate(&mut self, mbps: f64) {
        let rate = mbps * 1e6 / 8.0;
        let (now, way, longer) = (self.now, self.way, self.rate / rate);
        let later = |at: Time| now + Span((at.since(now).0 as f64 * longer) as u64);
        self.free_at = later(self.free_at);
        let due = std::mem::take(&mut self.due);
        let moved = due.into_iter().map(|((at, count), due)| {
            let waits = matches!(due, PathEvent::Data(_)) && at > now + way;
            let at = if waits { later(Time(at.0 - way.0)) + way } else { at };
            ((at, count), due)
        });
        self.due = moved.collect();
        self.rate = rate;
    }

    /// Changes the application.
    fn becomes(&mut self, application: Application) {
        self.application = application;
        self.due.retain(|_, due| !matches!(due, PathEvent::Writes));
        self.put(self.now, PathEvent::Writes);
    }

    fn put(&mut self, at: Time, due: PathEvent) {
        self.count += 1;
        self.due.insert((at, self.count), due);
    }

    /// Processes the next event.
    fn step(&mut self) {
        let timers = [self.sender.next_timeout(), self.receiver.next_timeout()];
        let timer = timers.into_iter().min().and_then(|timer| timer.get());
        let next = self.due.first_key_value().map(|(&(at, _), _)| at);
        self.now = [timer, next].into_iter().flatten().min().expect("something is due");
        assert!(self.now < Time(Span::seconds(300).0), "{:?}", self.state());
        if next == Some(self.now) {
            match self.due.pop_first().map(|(_, due)| due) {
                Some(PathEvent::Data(segment)) => {
                    self.received += u64::from(segment.length);
                    self.receiver.on_segment(self.now, &segment);
                }
                Some(PathEvent::Ack(ack)) => self.sender.on_ack(self.now, &ack),
                Some(PathEvent::Writes) | None => self.write(),
            }
        } else {
            if timers[0] <= self.now.into() {
                self.sender.on_timeout(self.now);
            }
            if timers[1] <= self.now.into() {
                self.receiver.on_timeout(self.now);
            }
        }
        while let Some(ack) = self.receiver.poll_transmit(self.now) {
            let mut at = self.now + self.way;
            if let Some(gap) = self.ack_gap {
                at = Time(at.0.next_multiple_of(gap.0));
            }
            self.put(at, PathEvent::Ack(ack));
        }
        self.keep_ready();
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.pass(segment);
            self.keep_ready();
        }
    }

    fn keep_ready(&mut self) {
        if self.application == Application::Greedy {
            let nxt = self.sender.flight().nxt;
            self.sender.write_up_to(nxt + READY * MSS);
        }
    }

    fn write(&mut self) {
        if let Application::Writes(segments, each) = self.application {
            let nxt = self.sender.flight().nxt;
            self.sender.write_up_to(nxt + segments * MSS);
            self.put(self.now + each, PathEvent::Writes);
        }
    }

    fn pass(&mut self, segment: DataSegment) {
        self.sent += 1;
        let length = f64::from(segment.length);
        let waits = self.free_at.0.saturating_sub(self.now.0) as f64 / 1e12 * self.rate;
        let policed = self
            .policer
            .as_mut()
            .is_some_and(|policer| policer.drops(self.now, length));
        let lost = self.lost_in > 0 && self.sent.is_multiple_of(self.lost_in);
        if policed || lost || waits + length > self.room {
            self.dropped += 1;
            return;
        }
        self.free_at = self.free_at.max(self.now) + Span((length / self.rate * 1e12) as u64);
        let (each, late) = self.late;
        let late = if each > 0 && self.sent.is_multiple_of(each) {
            late
        } else {
            Span(0)
        };
        self.put(self.free_at + self.way + late, PathEvent::Data(segment));
    }

    /// Runs until the condition holds.
    fn until(&mut self, holds: impl Fn(&Flow) -> bool) -> &mut Flow {
        while !holds(self) {
            self.step();
        }
        self
    }

    fn until_state(&mut self, state: State) -> &mut Flow {
        self.until(|flow| flow.state() == state)
    }

    /// Runs until the sender leaves `state`, and returns the next state.
    fn after(&mut self, state: State) -> State {
        self.until(|flow| flow.state() != state);
        self.state()
    }

    /// Runs for `span`, and calls `look` after each event.
    fn watch(&mut self, span: Span, mut look: impl FnMut(&Flow)) {
        let end = self.now + span;
        while self.now < end {
            self.step();
            look(self);
        }
    }

    /// Runs for `span`, and returns the throughput as a fraction of `rate` [byte/s].
    fn share(&mut self, span: Span, rate: f64) -> f64 {
        let before = self.received;
        self.watch(span, |_| {});
        (self.received - before) as f64 / (rate * span.as_seconds())
    }
}

impl Policer {
    fn drops(&mut self, now: Time, length: f64) -> bool {
        let more = self.rate * now.since(self.since).as_seconds();
        (self.tokens, self.since) = ((self.tokens + more).min(self.most), now);
        let drops = self.tokens < length;
        if !drops {
            self.tokens -= length;
        }
        drops
    }
}
