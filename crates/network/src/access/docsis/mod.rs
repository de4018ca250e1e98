//! Upstream channel of DOCSIS 3.1: cable modems request capacity, and the CMTS grants minislots in MAPs.
//!
//! ```text
//! packet ─▶ request (in a burst, or at a random time) ─▶ CMTS ─▶ MAP ─▶ burst in its interval ─▶ CMTS decodes
//! ```
//!
//! The rules are those of CableLabs' model docsis-ns3. A request is sent with a burst (piggybacked) or, in an interval
//! without a grant for the modem, once at a uniformly distributed time, without collisions. The CMTS generates the MAP of
//! an interval at a fixed time before it, from the requests that have arrived by then. It limits each modem by two token
//! buckets, divides the free minislots equally, and places the grants as one block at a random position.
//!
//! A minislot lasts for a whole frame, on some of its subcarriers, so a grant only determines how many bytes are sent in
//! each frame. An idle channel has no events: opportunities for requests are drawn when data wait for them.

mod parameters;

use super::cell_events::CellEvents;
use super::fragments::{Filled, InTransit};
use super::{AccessReport, MediumAccess, NewStation, StationAction, StationEvent, Stations};
use longpipe_events::{Span, Stream, Time, PS_PER_SECOND};
pub use parameters::DocsisConfig;
use parameters::{channel, config, Channel, PEAK_BURST_BYTES, PIPELINE};
use std::collections::VecDeque;

/// What happens at a time; at equal times in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The CMTS has decoded a frame that completes packets of a modem.
    Decoded,
    /// A request of a modem for a number of bytes arrives at the CMTS.
    Request(u64),
    /// The CMTS generates the MAP of an interval.
    Map(u64),
    /// A modem prepares the burst of its next grant.
    Burst,
    /// A modem prepares the burst of a proactive grant, which begins with this frame.
    ProactiveBurst(u64),
    /// A modem may send a request in an interval without a grant.
    Opportunity(u64),
}

/// A token bucket, whose tokens are parts of bits: a rate of 1 bit/s adds one per picosecond.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate_bps: u64,
    capacity: u128,
    tokens: u128,
    since: Time,
}

/// Tokens of a byte.
const BYTE: u128 = 8 * PS_PER_SECOND as u128;

impl Bucket {
    /// Creates a full bucket, which holds a burst and what the rate adds in an interval.
    fn new(rate_bps: u64, burst_bytes: u64, interval_ps: u64) -> Bucket {
        let capacity = u128::from(burst_bytes) * BYTE + u128::from(rate_bps) * u128::from(interval_ps);
        Bucket {
            rate_bps,
            capacity,
            tokens: capacity,
            since: Time::ZERO,
        }
    }

    /// Returns the bytes that may be granted at `now`.
    fn bytes(&mut self, now: Time) -> u64 {
        let added = u128::from(self.rate_bps) * u128::from(now.0 - self.since.0);
        self.tokens = (self.tokens + added).min(self.capacity);
        self.since = now;
        (self.tokens / BYTE) as u64
    }
}

/// A grant: minislots in consecutive frames.
#[derive(Clone, Debug)]
struct Grant {
    first_frame: u64,
    minislots: Vec<u64>,
    /// Bytes of requests that it fulfills.
    bytes: u64,
}

/// A modem, and what the CMTS knows of it.
#[derive(Clone, Debug)]
struct Modem {
    delay: Span,
    header_bytes: u64,
    buckets: Vec<Bucket>,
    /// Frames between proactive grants, and the minislots of each.
    proactive: Option<(u64, u64)>,
    opportunities: Stream,
    /// Packets in the queue.
    packets: u64,
    /// Bytes that have not been sent of the packet of which a part has been sent; 0 if there is none.
    rest: u64,
    in_transit: InTransit,
    /// Bytes that have been requested and for which no granted burst has been prepared.
    outstanding: u64,
    /// Bytes of requests that have not reached the CMTS.
    on_way: u64,
    /// Bytes of requests at the CMTS.
    requested: u64,
    grants: VecDeque<Grant>,
    /// Intervals with grants, ascending; earlier ones than that of the latest opportunity are removed.
    granted: VecDeque<u64>,
    has_opportunity: bool,
    has_proactive_burst: bool,
    /// First frame whose proactive grant, if it has one, is unused.
    next_proactive: u64,
    waits_since: Option<Time>,
    report: AccessReport,
}

impl Modem {
    fn new(station: &NewStation<'_>, channel: &Channel, seed: u64) -> Modem {
        let config = config(station);
        let interval_ps = channel.interval_ps();
        let limits = [
            config.max_rate_bps.map(|rate| (rate, config.max_burst_bytes)),
            config.peak_rate_bps.map(|rate| (rate, PEAK_BURST_BYTES)),
        ];
        let bucket = |(rate, burst)| Bucket::new(config.with_headers(rate), burst, interval_ps);
        Modem {
            delay: station.delay,
            header_bytes: config.mac_header_bytes,
            buckets: limits.into_iter().flatten().map(bucket).collect(),
            proactive: config.proactive(channel),
            opportunities: Stream::new(seed, "request opportunity", station.link as u64),
            packets: 0,
            rest: 0,
            in_transit: InTransit::default(),
            outstanding: 0,
            on_way: 0,
            requested: 0,
            grants: VecDeque::new(),
            granted: VecDeque::new(),
            has_opportunity: false,
            has_proactive_burst: false,
            next_proactive: 0,
            waits_since: None,
            report: AccessReport::default(),
        }
    }

    /// Returns the bytes that wait, with the headers of their packets; `waiting` bytes are in the queue.
    fn backlog(&mut self, waiting: u64) -> u64 {
        if waiting == 0 {
            self.packets = 0;
        }
        self.rest + waiting + self.header_bytes * self.packets
    }

    /// Returns the minislots of the proactive grant that begins with a frame; 0 if there is none.
    fn proactive_minislots(&self, frame: u64) -> u64 {
        let grants = self.proactive.filter(|&(every, _)| frame.is_multiple_of(every));
        grants.map_or(0, |(_, minislots)| minislots)
    }

    /// Returns whether the modem has a grant in an interval of `frames` frames.
    fn has_grant(&mut self, interval: u64, frames: u64) -> bool {
        while self.granted.front().is_some_and(|&granted| granted < interval) {
            self.granted.pop_front();
        }
        let is_proactive =
            |(every, _): (u64, u64)| (interval * frames).next_multiple_of(every) < (interval + 1) * frames;
        self.granted.front() == Some(&interval) || self.proactive.is_some_and(is_proactive)
    }

    /// Returns the bytes of requests that a MAP generated at `now` may grant.
    fn grantable(&mut self, now: Time) -> u64 {
        let limits = self.buckets.iter_mut().map(|bucket| bucket.bytes(now));
        limits.min().unwrap_or(u64::MAX).min(self.requested)
    }
}

/// The channel.
#[derive(Clone, Debug)]
pub(crate) struct Docsis {
    channel: Channel,
    modems: Vec<Modem>,
    positions: Stream,
    /// Mean share of the minislots that are free, and its variation; None if all are.
    free: Option<(f64, f64)>,
    /// Events and their modems.
    events: CellEvents<Time, (Event, usize)>,
    /// Interval of the latest MAP, and whether a later one is scheduled.
    mapped: Option<u64>,
    has_map: bool,
    memory: Memory,
}

/// Lists that each MAP fills again, kept for their memory.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// Free minislots of each frame.
    free: Vec<u64>,
    /// Bytes and minislots that each modem wants.
    wanted: Vec<u64>,
    minislots: Vec<u64>,
    shares: Shares,
    /// Empty lists for the minislots of grants.
    grants: Vec<Vec<u64>>,
}

impl Docsis {
    /// Creates the idle channel of these modems.
    pub(super) fn new(stations: &[NewStation<'_>], seed: u64) -> Docsis {
        let (channel, first) = (channel(stations), config(&stations[0]));
        let is_shared = first.free_share < 1.0 || first.free_variation > 0.0;
        Docsis {
            channel,
            modems: stations
                .iter()
                .map(|station| Modem::new(station, &channel, seed))
                .collect(),
            positions: Stream::new(seed, "grant position", stations[0].link as u64),
            free: is_shared.then_some((first.free_share, first.free_variation)),
            events: CellEvents::new(),
            mapped: None,
            has_map: false,
            memory: Memory::default(),
        }
    }

    fn push(&mut self, at: Time, event: Event, modem: usize) {
        self.events.push(at, (event, modem));
    }

    /// Returns the start of a frame.
    fn frame(&self, number: u64) -> Time {
        Time(number * self.channel.frame_ps)
    }

    /// Schedules a modem's next opportunity for a request, in the interval of `now` or in a later one.
    fn schedule_opportunity(&mut self, number: usize, now: Time, first_interval: u64) {
        let interval_ps = self.channel.interval_ps();
        let modem = &mut self.modems[number];
        modem.has_opportunity = true;
        let mut interval = first_interval;
        let mut at = interval * interval_ps + modem.opportunities.below(interval_ps);
        if at < now.0 {
            interval += 1;
            at = interval * interval_ps + modem.opportunities.below(interval_ps);
        }
        self.push(Time(at), Event::Opportunity(interval), number);
    }

    /// Schedules the next burst of a modem with proactive grants for which it can still be prepared.
    fn schedule_proactive_burst(&mut self, number: usize, now: Time) {
        let Some((every, _)) = self.modems[number].proactive else {
            return;
        };
        let modem = &mut self.modems[number];
        modem.has_proactive_burst = true;
        let next = now.0.div_ceil(self.channel.frame_ps) + PIPELINE;
        let frame = next.max(modem.next_proactive).next_multiple_of(every);
        self.push(self.frame(frame - PIPELINE), Event::ProactiveBurst(frame), number);
    }

    /// Sends a request for all bytes that wait and have not been requested. Returns whether there are such bytes.
    fn request(&mut self, number: usize, now: Time, stations: &mut impl Stations) -> bool {
        let modem = &mut self.modems[number];
        let bytes = modem
            .backlog(stations.waiting_bytes(number))
            .saturating_sub(modem.outstanding);
        if bytes == 0 {
            return false;
        }
        modem.outstanding += bytes;
        modem.on_way += bytes;
        modem.report.requests += 1;
        let arrives = now + Span(self.channel.burst_ps()) + modem.delay;
        stations.record(number, now, StationEvent::new(StationAction::Request, bytes));
        self.push(arrives, Event::Request(bytes), number);
        true
    }

    /// Schedules the earliest MAP that can be generated from now on.
    fn schedule_map(&mut self, now: Time) {
        if !self.has_map {
            self.has_map = true;
            let interval_ps = self.channel.interval_ps();
            let earliest = (now.0 + self.channel.lead_ps).div_ceil(interval_ps);
            let interval = self.mapped.map_or(earliest, |mapped| earliest.max(mapped + 1));
            let at = Time(interval * interval_ps - self.channel.lead_ps);
            self.push(at, Event::Map(interval), 0);
        }
    }

    /// Generates the MAP of an interval: grants free minislots to the modems.
    fn map(&mut self, now: Time, interval: u64, stations: &mut impl Stations) {
        (self.mapped, self.has_map) = (Some(interval), false);
        let first_frame = interval * self.channel.frames;
        let mut memory = std::mem::take(&mut self.memory);
        let Memory {
            free,
            wanted,
            minislots,
            shares,
            grants,
        } = &mut memory;
        free.clear();
        free.resize(self.channel.frames as usize, self.channel.minislots);
        if self.modems.iter().any(|modem| modem.proactive.is_some()) {
            for (frame, free) in (first_frame..).zip(&mut *free) {
                let proactive: u64 = self.modems.iter().map(|modem| modem.proactive_minislots(frame)).sum();
                *free = free.saturating_sub(proactive);
            }
        }
        let room: u64 = free.iter().sum();
        let size = self.channel.minislot_bytes;
        wanted.clear();
        wanted.extend(self.modems.iter_mut().map(|modem| modem.grantable(now)));
        minislots.clear();
        minislots.extend(wanted.iter().map(|bytes| bytes.div_ceil(size)));
        let first = (interval % self.modems.len() as u64) as usize;
        let granted = shares.divide(minislots, self.free_minislots().min(room), first);
        let skipped = self.positions.below(room - granted.iter().sum::<u64>() + 1);
        let mut unassigned = Unassigned {
            free,
            place: 0,
            skipped,
        };
        let count = self.modems.len();
        for number in (first..count).chain(0..first).filter(|&number| granted[number] > 0) {
            let mut block = grants.pop().unwrap_or_default();
            let place = unassigned.take(granted[number], &mut block);
            let grant = Grant {
                first_frame: first_frame + place as u64,
                minislots: block,
                bytes: wanted[number].min(granted[number] * size),
            };
            let modem = &mut self.modems[number];
            modem.requested -= grant.bytes;
            for bucket in &mut modem.buckets {
                bucket.tokens -= u128::from(grant.bytes) * BYTE;
            }
            // Opportunities precede the interval of a MAP by at most its advance.
            modem.has_grant(now.0 / self.channel.interval_ps(), self.channel.frames);
            modem.granted.push_back(interval);
            let arrives = Time(interval * self.channel.interval_ps() - self.channel.deadline_ps);
            stations.record(number, arrives, StationEvent::new(StationAction::Grant, grant.bytes));
            let prepared = grant.first_frame - PIPELINE;
            modem.grants.push_back(grant);
            self.push(self.frame(prepared), Event::Burst, number);
        }
        self.memory = memory;
        if self.modems.iter().any(|modem| modem.requested > 0) {
            self.schedule_map(now);
        }
    }

    /// Returns the minislots of a MAP that other modems leave free.
    fn free_minislots(&mut self) -> u64 {
        let all = self.channel.minislots * self.channel.frames;
        let Some((mean, variation)) = self.free else { return all };
        const STEPS: u64 = 1 << 53;
        let uniform = self.positions.below(STEPS) as f64 / STEPS as f64;
        let share = mean * (1.0 + variation * (2.0 * uniform - 1.0));
        (all as f64 * share.min(1.0)) as u64
    }

    /// Sends the packets of a modem in the minislots of consecutive frames, and requests capacity for the others.
    fn burst(&mut self, number: usize, now: Time, first_frame: u64, minislots: &[u64], stations: &mut impl Stations) {
        let modem = &mut self.modems[number];
        let (header, mut taken) = (modem.header_bytes, 0);
        let mut sent = 0;
        for (frame, minislots) in (first_frame..).zip(minislots) {
            let room = minislots * self.channel.minislot_bytes;
            let filled = fill(room, &mut modem.rest, || {
                let bytes = stations.take(number, now)?;
                taken += 1;
                Some(bytes + header)
            });
            sent += filled.bytes;
            let end = Time((frame + 1 + PIPELINE) * self.channel.frame_ps);
            modem.in_transit.complete(&filled, end, false);
            if filled.completed > 0 {
                self.events.push(end, (Event::Decoded, number));
            }
        }
        modem.packets = modem.packets.saturating_sub(taken);
        if sent > 0 {
            let capacity = minislots.iter().sum::<u64>() * self.channel.minislot_bytes;
            let since = modem.waits_since.take().unwrap_or(now);
            let waited = Span(now.0.saturating_sub(since.0));
            modem.report.waiting = Span(modem.report.waiting.0 + waited.0);
            modem.report.used += 1;
            modem.report.overhead_bytes += capacity - sent + header * taken;
            let event = StationEvent::new(StationAction::Transmission, sent);
            stations.record(number, now, StationEvent { waited, ..event });
            if modem.backlog(stations.waiting_bytes(number)) > 0 {
                modem.waits_since = Some(now);
            }
        }
        self.request(number, now, stations);
    }

    fn process(&mut self, now: Time, event: Event, number: usize, stations: &mut impl Stations) {
        match event {
            Event::Decoded => self.modems[number].in_transit.end(number, now, stations),
            Event::Request(bytes) => {
                let modem = &mut self.modems[number];
                modem.on_way -= bytes;
                modem.requested += bytes;
                self.schedule_map(now);
            }
            Event::Map(interval) => self.map(now, interval, stations),
            Event::Burst => {
                let modem = &mut self.modems[number];
                let Some(mut grant) = modem.grants.pop_front() else {
                    return;
                };
                modem.outstanding -= grant.bytes;
                modem.report.granted += 1;
                self.burst(number, now, grant.first_frame, &grant.minislots, stations);
                grant.minislots.clear();
                self.memory.grants.push(grant.minislots);
            }
            Event::ProactiveBurst(frame) => {
                let minislots = self.modems[number].proactive_minislots(frame);
                self.burst(number, now, frame, &[minislots], stations);
                let modem = &mut self.modems[number];
                (modem.has_proactive_burst, modem.next_proactive) = (false, frame + 1);
                if modem.backlog(stations.waiting_bytes(number)) > 0 {
                    self.schedule_proactive_burst(number, now);
                }
            }
            Event::Opportunity(interval) => {
                let frames = self.channel.frames;
                let modem = &mut self.modems[number];
                modem.has_opportunity = false;
                let waits = modem.backlog(stations.waiting_bytes(number)) > modem.outstanding;
                if waits && modem.has_grant(interval, frames) {
                    self.schedule_opportunity(number, now, interval + 1);
                } else if waits {
                    self.request(number, now, stations);
                }
            }
        }
    }
}

/// Shares of the modems in a MAP, kept for their memory.
#[derive(Clone, Debug, Default)]
struct Shares {
    order: Vec<usize>,
    minislots: Vec<u64>,
}

impl Shares {
    /// Returns equal shares of `free` minislots, as far as they are wanted; the rest of a division goes to the modems
    /// from `first` on.
    fn divide(&mut self, wanted: &[u64], free: u64, first: usize) -> &[u64] {
        let count = wanted.len();
        self.order.clear();
        self.order.extend((first..count).chain(0..first));
        self.order.sort_by_key(|&number| wanted[number]);
        self.minislots.clear();
        self.minislots.resize(count, 0);
        let mut left = free;
        for (place, &number) in self.order.iter().enumerate() {
            let share = left.div_ceil((count - place) as u64);
            self.minislots[number] = wanted[number].min(share).min(left);
            left -= self.minislots[number];
        }
        &self.minislots
    }
}

/// Free minislots of an interval, from which blocks are taken one after the other.
struct Unassigned<'a> {
    /// Free minislots of each frame.
    free: &'a mut [u64],
    /// First frame that may have free minislots.
    place: usize,
    /// Minislots that precede the first block.
    skipped: u64,
}

impl Unassigned<'_> {
    /// Takes the next `size` minislots, and appends their number in each of consecutive frames to `minislots`. Returns
    /// the place of the first of these frames.
    fn take(&mut self, mut size: u64, minislots: &mut Vec<u64>) -> usize {
        let mut begin = None;
        while let Some(free) = self.free.get_mut(self.place) {
            let passed = (*free).min(self.skipped);
            self.skipped -= passed;
            let taken = size.min(*free - passed);
            *free -= passed + taken;
            size -= taken;
            if taken > 0 || (begin.is_some() && size > 0) {
                begin.get_or_insert(self.place);
                minislots.push(taken);
            }
            if size == 0 {
                break;
            }
            self.place += 1;
        }
        begin.unwrap_or(0)
    }
}

/// Fills a frame with the rest of a packet and with further packets, which `take` returns with their headers.
fn fill(room: u64, rest: &mut u64, mut take: impl FnMut() -> Option<u64>) -> Filled {
    let (mut filled, mut left) = (Filled::default(), room);
    while left > 0 {
        if *rest == 0 {
            let Some(bytes) = take() else { break };
            *rest = bytes;
        }
        let part = left.min(*rest);
        *rest -= part;
        left -= part;
        filled.bytes += part;
        filled.completed += u64::from(*rest == 0);
    }
    filled.continues = *rest > 0;
    filled
}

impl MediumAccess for Docsis {
    fn arrived(&mut self, now: Time, station: usize, _bytes: u64, stations: &mut impl Stations) {
        let modem = &mut self.modems[station];
        modem.packets += 1;
        modem.waits_since.get_or_insert(now);
        if !modem.has_opportunity {
            self.schedule_opportunity(station, now, now.0 / self.channel.interval_ps());
        }
        if !self.modems[station].has_proactive_burst {
            self.schedule_proactive_burst(station, now);
        }
        self.wake(now, stations);
    }

    fn next_event(&self) -> Option<Time> {
        self.events.first()
    }

    fn wake(&mut self, now: Time, stations: &mut impl Stations) {
        while self.next_event().is_some_and(|at| at <= now) {
            if let Some((at, (event, modem))) = self.events.pop() {
                self.process(at, event, modem, stations);
            }
        }
    }

    fn report(&self, station: usize, now: Time) -> AccessReport {
        let modem = &self.modems[station];
        let waiting = modem.waits_since.map_or(0, |since| now.0.saturating_sub(since.0));
        let prepared = now.0 / self.channel.frame_ps + PIPELINE;
        let proactive = modem.proactive.map_or(0, |(every, _)| prepared / every + 1);
        AccessReport {
            waiting: Span(modem.report.waiting.0 + waiting),
            granted: modem.report.granted + proactive,
            ..modem.report
        }
    }

    fn conserves(&self, now: Time) -> bool {
        let numbers = 0..self.modems.len();
        let mut modems = self.modems.iter().zip(numbers);
        modems.all(|(modem, number)| {
            let granted: u64 = modem.grants.iter().map(|grant| grant.bytes).sum();
            let report = self.report(number, now);
            modem.outstanding == modem.on_way + modem.requested + granted && report.used <= report.granted
        })
    }
}

#[cfg(test)]
mod tests;
