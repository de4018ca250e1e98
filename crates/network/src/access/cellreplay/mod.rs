//! Replay of a recorded cellular link, as by CellReplay (Sentosa et al., NSDI 2025).
//!
//! A recording has trains of packets that found the link idle (light), and the opportunities of a saturated link (heavy).
//! A packet passes two stages. The light stage releases it after the base delay of the present train, and by the train's
//! opportunities, which are relative to its first packet. A packet for which the train has no opportunity, and any packet
//! that finds the heavy stage occupied, also waits there for the opportunities of the saturated link, in a queue that may
//! drop packets.
//!
//! Times are whole milliseconds since the first packet, as in CellReplay.

mod fifo;
mod parameters;

use super::{AccessReport, MediumAccess, NewStation, StationAction, StationEvent, Stations};
pub use fifo::HeavyQueue;
use fifo::{Dropped, Fifo};
use longpipe_events::{Span, Time};
use parameters::config;
pub use parameters::CellReplayConfig;
use std::collections::VecDeque;

const MS: u64 = 1_000_000_000;
/// Bytes of an opportunity.
const OPPORTUNITY: u64 = 1400;
/// Step [byte] of the sizes with offsets.
const STEP: u64 = 100;

/// A train of packets: its time, the delay of its first packet, and the times of its packets after the first one [ms].
#[derive(Clone, Debug)]
struct Train {
    time: u64,
    base: u64,
    offsets: Vec<u64>,
}

/// The light stage.
#[derive(Clone, Debug)]
struct Light {
    trains: Vec<Train>,
    /// Offsets [ms] of packets of 100, 200, ... bytes.
    sizes: Vec<f64>,
    /// Time [ms] after the last release after which a packet begins a train.
    timer: u64,
    /// Number of the present train, and the time at which the recording began (again).
    number: usize,
    began: u64,
    /// Arrival of the first packet of the present train, and its base delay; None before the first packet.
    present: Option<(u64, u64)>,
    /// Next opportunity of the train, and its bytes that are left.
    opportunity: usize,
    left: u64,
    /// Release of the last packet, without and with its size offset.
    last: u64,
    released: u64,
}

impl Light {
    /// Returns the release [ms] of a packet that arrives at `now`, and whether it may bypass the heavy stage.
    fn release(&mut self, now: u64, bytes: u64) -> (u64, bool) {
        let (release, bypasses) = match self.present {
            Some((start, base)) if now + base <= self.last + self.timer => self.follow(now, bytes, start, base),
            _ => (self.begin(now, bytes), true),
        };
        self.last = release;
        let shifted = release.saturating_add_signed(self.offset(bytes));
        let release = if shifted >= self.released { shifted } else { release };
        let is_early = release < self.released;
        self.released = self.released.max(release);
        (self.released, bypasses && !is_early)
    }

    /// Begins a train with a packet, and returns its release.
    fn begin(&mut self, now: u64, bytes: u64) -> u64 {
        let last = self.trains.len() - 1;
        while self.trains[self.number + 1].time <= now - self.began {
            self.number += 1;
            if self.number == last {
                self.began += self.trains[last].time;
                self.number = 0;
            }
        }
        let (train, next) = (&self.trains[self.number], &self.trains[self.number + 1]);
        // CellReplay interpolates in single precision. Before the first train, it extrapolates.
        let passed = (now - self.began) as i64 - train.time as i64;
        let share = passed as f32 / (next.time - train.time) as f32;
        let base = (train.base as f32 + share * (next.base as f32 - train.base as f32)) as u64;
        self.present = Some((now, base));
        self.opportunity = 0;
        self.left = OPPORTUNITY.saturating_sub(bytes);
        now + base
    }

    /// Returns the release of a packet in the present train, and whether the train has an opportunity for it.
    fn follow(&mut self, now: u64, bytes: u64, start: u64, base: u64) -> (u64, bool) {
        let offsets = &self.trains[self.number].offsets;
        let elapsed = now - start;
        while offsets.get(self.opportunity).is_some_and(|&offset| offset < elapsed) {
            self.opportunity += 1;
            self.left = OPPORTUNITY;
        }
        if self.left < bytes {
            self.opportunity += 1;
            self.left = OPPORTUNITY;
        }
        self.left = self.left.saturating_sub(bytes);
        match offsets.get(self.opportunity) {
            Some(offset) => (now + base + offset - elapsed, true),
            None => (now + base.max(offsets[offsets.len() - 1]), false),
        }
    }

    /// Returns the offset [ms] of a packet by its size: linear between the steps, constant outside of them.
    fn offset(&self, bytes: u64) -> i64 {
        let Some(last) = self.sizes.len().checked_sub(1) else {
            return 0;
        };
        let offset = match (bytes / STEP).checked_sub(1) {
            None => self.sizes[0],
            Some(step) if step as usize >= last => self.sizes[last],
            Some(step) => {
                let (low, high) = (self.sizes[step as usize], self.sizes[step as usize + 1]);
                low + (bytes % STEP) as f64 / STEP as f64 * (high - low)
            }
        };
        offset.round() as i64
    }
}

/// The heavy stage.
#[derive(Clone, Debug)]
struct Heavy {
    /// Times [ms] of the opportunities, which repeat after the last one.
    opportunities: Vec<u64>,
    /// Next opportunity, and the time at which the schedule began (again).
    next: usize,
    began: u64,
    /// Bytes that have not been sent of the packet of which a part has been sent; 0 if there is none.
    rest: u64,
    fifo: Fifo,
    /// Time of the last opportunity that completed a packet.
    completed: Option<u64>,
}

impl Heavy {
    fn opportunity(&self) -> u64 {
        self.began + self.opportunities[self.next]
    }

    fn advance(&mut self) {
        self.next += 1;
        if self.next == self.opportunities.len() {
            self.next = 0;
            self.began += self.opportunities[self.opportunities.len() - 1];
        }
    }

    /// Returns the number of packets in the stage.
    fn len(&self) -> usize {
        self.fifo.len() + usize::from(self.rest > 0)
    }

    fn is_empty(&self) -> bool {
        self.rest == 0 && self.fifo.is_empty()
    }

    /// Returns whether a packet that is released at a time finds the stage occupied. Opportunities up to then that no
    /// packet uses are lost.
    fn is_occupied(&mut self, time: u64) -> bool {
        while self.is_empty() && self.opportunity() <= time {
            self.advance();
        }
        !self.is_empty() || self.completed.is_some_and(|completed| completed >= time)
    }
}

/// A packet in the light stage.
#[derive(Clone, Copy, Debug)]
struct Released {
    time: u64,
    bytes: u64,
    bypasses: bool,
}

/// A direction of a link.
#[derive(Clone, Debug)]
struct Replay {
    light: Light,
    heavy: Heavy,
    /// Arrival of the first packet.
    origin: Option<Time>,
    released: VecDeque<Released>,
    taken: u64,
    left: u64,
    dropped: u64,
    /// Time since which packets wait in the heavy stage.
    waits_since: Option<Time>,
    report: AccessReport,
}

impl Replay {
    /// Returns the time of a number of milliseconds.
    fn time(&self, ms: u64) -> Time {
        Time(self.origin.map_or(0, |origin| origin.0) + ms * MS)
    }

    /// Returns the time [ms] of the next event, and whether it is an opportunity.
    fn next(&self) -> Option<(u64, bool)> {
        let release = self.released.front().map(|packet| (packet.time, false));
        let opportunity = (!self.heavy.is_empty()).then(|| (self.heavy.opportunity(), true));
        match (release, opportunity) {
            // An opportunity serves those that have joined before its time.
            (Some(release), Some(opportunity)) if opportunity.0 <= release.0 => Some(opportunity),
            (Some(release), _) => Some(release),
            (None, opportunity) => opportunity,
        }
    }

    /// Releases a packet from the light stage. Because releases are whole milliseconds, that of a packet may precede its
    /// arrival at `now`, and is then at once.
    fn join(&mut self, number: usize, now: Time, stations: &mut impl Stations) {
        let Some(packet) = self.released.pop_front() else {
            return;
        };
        if !self.heavy.is_occupied(packet.time) && packet.bypasses {
            self.left += 1;
            return stations.leave(number, now);
        }
        let begun = usize::from(self.heavy.rest > 0);
        let last = self.heavy.len();
        match self.heavy.fifo.put(packet.time, packet.bytes) {
            Dropped::First(count) => self.drop_packets(number, begun, count, now, stations),
            Dropped::Last => self.drop_packets(number, last, 1, now, stations),
        }
        if self.heavy.is_empty() {
            self.waits_since = None;
        } else {
            self.waits_since.get_or_insert(now);
        }
    }

    /// Drops `count` packets, beginning with the one at `place`; the earliest packet of the link is at 0.
    fn drop_packets(&mut self, number: usize, place: usize, count: u64, now: Time, stations: &mut impl Stations) {
        (0..count).for_each(|_| stations.discard_at(number, place, now));
        self.dropped += count;
    }

    /// Uses an opportunity of the heavy stage.
    fn serve(&mut self, number: usize, stations: &mut impl Stations) {
        let ms = self.heavy.opportunity();
        let (now, mut left) = (self.time(ms), OPPORTUNITY);
        self.heavy.advance();
        self.report.granted += 1;
        self.report.used += 1;
        while left > 0 {
            if self.heavy.rest == 0 {
                let Some((bytes, dropped)) = self.heavy.fifo.get(ms) else {
                    break;
                };
                self.heavy.rest = bytes;
                self.drop_packets(number, 1, dropped, now, stations);
            }
            let sent = left.min(self.heavy.rest);
            left -= sent;
            self.heavy.rest -= sent;
            if self.heavy.rest == 0 {
                self.heavy.completed = Some(ms);
                self.left += 1;
                stations.leave(number, now);
            }
        }
        self.report.overhead_bytes += left;
        let waited = Span(self.waits_since.take().map_or(0, |since| now.0 - since.0));
        self.report.waiting = Span(self.report.waiting.0 + waited.0);
        let event = StationEvent::new(StationAction::Transmission, OPPORTUNITY - left);
        stations.record(number, now, StationEvent { waited, ..event });
        if !self.heavy.is_empty() {
            self.waits_since = Some(now);
        }
    }
}

/// Recorded links, which do not affect each other.
#[derive(Clone, Debug)]
pub(crate) struct CellReplay {
    links: Vec<Replay>,
}

impl CellReplay {
    pub(super) fn new(stations: &[NewStation<'_>]) -> CellReplay {
        CellReplay {
            links: stations.iter().map(|station| config(station).replay()).collect(),
        }
    }
}

impl MediumAccess for CellReplay {
    fn arrived(&mut self, now: Time, station: usize, _bytes: u64, stations: &mut impl Stations) {
        let link = &mut self.links[station];
        let origin = *link.origin.get_or_insert(now);
        while let Some(bytes) = stations.take(station, now) {
            link.taken += 1;
            let (time, bypasses) = link.light.release((now.0 - origin.0) / MS, bytes);
            link.released.push_back(Released { time, bytes, bypasses });
        }
        // A base delay of 0 releases the packet at once.
        self.wake(now, stations);
    }

    fn next_event(&self) -> Option<Time> {
        let times = self.links.iter().filter_map(|link| Some(link.time(link.next()?.0)));
        times.min()
    }

    fn wake(&mut self, now: Time, stations: &mut impl Stations) {
        for (number, link) in self.links.iter_mut().enumerate() {
            while let Some((_, is_opportunity)) = link.next().filter(|&(time, _)| link.time(time) <= now) {
                match is_opportunity {
                    true => link.serve(number, stations),
                    false => link.join(number, now, stations),
                }
            }
        }
    }

    fn report(&self, station: usize, now: Time) -> AccessReport {
        let link = &self.links[station];
        let waiting = link.waits_since.map_or(0, |since| now.0.saturating_sub(since.0));
        AccessReport {
            waiting: Span(link.report.waiting.0 + waiting),
            ..link.report
        }
    }

    fn conserves(&self, _now: Time) -> bool {
        let held = |link: &Replay| (link.released.len() + link.heavy.len()) as u64;
        let mut links = self.links.iter();
        links.all(|link| link.taken == link.left + link.dropped + held(link))
    }
}

#[cfg(test)]
mod tests;
