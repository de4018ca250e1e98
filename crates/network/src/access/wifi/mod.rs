//! Wi-Fi (IEEE 802.11): the nodes of a cell contend for one radio channel by CSMA/CA with binary exponential back-off.
//!
//! Time is counted in virtual slots, in which all contenders count down together: a contender transmits in the slot of
//! its `expiry`, so that a contended channel has two events per transmission, and an idle one none. Slots begin when the
//! channel has been idle for AIFS. A busy period takes no virtual slot by the rule of 802.11a and g (DCF), and one by
//! the rule of 802.11n, ac and ax (EDCA).
//!
//! A contender is a node with the ports of its links in the cell: an access point contends once for all its clients, and
//! its scheduler determines the client. All stations hear each other at once, so that two transmissions collide if they
//! begin in the same slot. After a transmission without a response, all wait as long as the response would have taken.

mod parameters;
mod phy;

use super::{AccessReport, MediumAccess, NewStation, StationAction, StationEvent, Stations};
use longpipe_events::{Span, Stream, Time};
use parameters::config;
pub use parameters::{Scheduler, WifiConfig};
use phy::{subframe_bytes, SLOT_PS};
pub use phy::{Phy, Standard, Width};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// State of a frame (MPDU) that has been taken from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameState {
    /// Waits for its first or next transmission.
    Waiting,
    /// Is in transmission.
    Sending,
    /// Was received, and waits at the receiver for earlier frames.
    Received,
    /// Was transmitted as often as the retry limit permits, and waits for earlier frames.
    Discarded,
}

/// A frame (MPDU) that has been taken from the queue.
#[derive(Clone, Copy, Debug)]
struct Frame {
    bytes: u64,
    transmissions: u32,
    state: FrameState,
}

/// Suspensions of a link: a period [ps], and the duration [ps] of the suspension at the start of each but the first.
#[derive(Clone, Copy, Debug)]
struct Suspensions {
    every_ps: u64,
    for_ps: u64,
}

impl Suspensions {
    /// Returns the end of the suspension at `now`; None if the link is not suspended.
    fn end(self, now: Time) -> Option<Time> {
        let within = now.0 % self.every_ps;
        (now.0 >= self.every_ps && within < self.for_ps).then(|| Time(now.0 - within + self.for_ps))
    }
}

/// A port of a link of the cell.
#[derive(Clone, Debug)]
struct Station {
    contender: usize,
    phy: Phy,
    header_bytes: u64,
    max_frames: usize,
    /// Maximum length [byte] of an A-MPDU.
    max_bytes: u64,
    frame_error: f64,
    errors: Stream,
    retry_limit: u32,
    suspensions: Option<Suspensions>,
    /// Frames in the order in which they were taken, from the earliest that has neither left nor been dropped.
    frames: VecDeque<Frame>,
    /// Whether the station is in the list of its contender, because it may have data.
    is_listed: bool,
    /// Credit of airtime [ps].
    credit_ps: i64,
    /// Time since which data wait.
    waits_since: Option<Time>,
    taken: u64,
    left: u64,
    discarded: u64,
    responses: u64,
    failures: u64,
    report: AccessReport,
}

/// State of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContenderState {
    /// Has no data.
    Idle,
    /// Counts down, with data.
    Ready,
    Sending,
    /// All links for which it has data are suspended.
    Suspended,
}

/// A node that contends for the channel.
#[derive(Clone, Debug)]
struct Contender {
    state: ContenderState,
    backoffs: Stream,
    /// Failures since the last response, or since a frame was discarded.
    failures: u32,
    /// Virtual slot in which the counter reaches 0.
    expiry: u64,
    /// Number of the busy period after which the counter was drawn.
    drawn_in: u64,
    /// Stations that may have data, in the order of service.
    listed: VecDeque<usize>,
    /// Station whose last transmission got no response and is repeated next.
    repeats: Option<usize>,
}

/// A transmission in progress.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    station: usize,
    /// Length [byte] of the frames, with their headers.
    bytes: u64,
    /// Time for which data had waited when the transmission began.
    waited: Span,
    /// Time from the end of its data to the end of the response [ps].
    response_ps: u64,
    airtime_ps: u64,
}

/// The channel.
#[derive(Clone, Debug)]
pub(crate) struct Wifi {
    sifs_ps: u64,
    aifs_ps: u64,
    counts_busy_slots: bool,
    cw_min: u64,
    cw_max: u64,
    scheduler: Scheduler,
    quantum_ps: i64,
    stations: Vec<Station>,
    contenders: Vec<Contender>,
    /// Contenders that count down with data, by expiry.
    ready: BinaryHeap<Reverse<(u64, usize)>>,
    /// Contenders that wait for the end of a suspension.
    suspended: BinaryHeap<Reverse<(Time, usize)>>,
    /// Time at which the last busy period with its AIFS ended, or ends; slots are counted from there.
    resumes: Time,
    /// Virtual slot that begins at `resumes`.
    slot: u64,
    busy_periods: u64,
    transmissions: Vec<Transmission>,
    /// End of the data of the transmissions in progress.
    ends: Option<Time>,
    /// Time of the next event.
    next: Option<Time>,
}

impl Station {
    fn new(station: &NewStation<'_>, config: &WifiConfig, contender: usize, phy: Phy, seed: u64) -> Station {
        Station {
            contender,
            phy,
            header_bytes: config.standard.header_bytes(),
            max_frames: config.max_frames() as usize,
            max_bytes: phy.max_bytes(config.max_duration_ps),
            frame_error: config.frame_error,
            errors: Stream::new(seed, "frame error", station.link as u64),
            retry_limit: config.retry_limit,
            suspensions: config.suspend_every_ps.map(|every_ps| Suspensions {
                every_ps,
                for_ps: config.suspend_for_ps,
            }),
            frames: VecDeque::new(),
            is_listed: false,
            credit_ps: 0,
            waits_since: None,
            taken: 0,
            left: 0,
            discarded: 0,
            responses: 0,
            failures: 0,
            report: AccessReport::default(),
        }
    }

    /// Returns the end of the suspension of the link at `now`; None if the link is not suspended.
    fn suspended_until(&self, now: Time) -> Option<Time> {
        self.suspensions.and_then(|suspensions| suspensions.end(now))
    }

    /// Returns whether frames wait for a transmission.
    fn has_data(&self, number: usize, stations: &impl Stations) -> bool {
        stations.waiting_bytes(number) > 0 || self.frames.iter().any(|frame| frame.state == FrameState::Waiting)
    }

    /// Assembles a transmission of frames that wait, and of packets from the queue. Returns the numbers of frames and of
    /// bytes without the preamble; the number of frames is 0 if no packet waits.
    fn assemble(&mut self, number: usize, now: Time, stations: &mut impl Stations) -> (usize, u64) {
        let (mut count, mut aggregated, mut alone, mut data) = (0, 0, 0, 0);
        let header_bytes = self.header_bytes;
        let (max_frames, max_bytes) = (self.max_frames, self.max_bytes);
        let mut add = |frame: &mut Frame| {
            let bytes = aggregated + subframe_bytes(frame.bytes + header_bytes);
            let fits = count == 0 || (count < max_frames && bytes <= max_bytes);
            if fits {
                (count, aggregated, alone) = (count + 1, bytes, frame.bytes + header_bytes);
                data += frame.bytes;
                frame.state = FrameState::Sending;
            }
            fits
        };
        let waiting = |frame: &&mut Frame| frame.state == FrameState::Waiting;
        let mut has_room = self.frames.iter_mut().filter(waiting).all(&mut add);
        while has_room && self.frames.len() < self.max_frames {
            let Some(bytes) = stations.take(number, now) else { break };
            self.taken += 1;
            let mut frame = Frame {
                bytes,
                transmissions: 0,
                state: FrameState::Waiting,
            };
            has_room = add(&mut frame);
            self.frames.push_back(frame);
        }
        let bytes = if count > 1 { aggregated } else { alone };
        self.report.overhead_bytes += bytes - data;
        (count, bytes)
    }

    /// Ends a transmission of which the frames arrive, unless noise corrupts them, if it did not collide. Returns
    /// whether a response follows.
    fn finish(&mut self, collides: bool) -> bool {
        let mut responds = false;
        for frame in self
            .frames
            .iter_mut()
            .filter(|frame| frame.state == FrameState::Sending)
        {
            let is_lost = collides || (self.frame_error > 0.0 && self.errors.fraction() < self.frame_error);
            responds |= !is_lost;
            self.report.retransmissions += u64::from(frame.transmissions > 0);
            frame.transmissions += 1;
            frame.state = match (is_lost, frame.transmissions >= self.retry_limit) {
                (false, _) => FrameState::Received,
                (true, true) => FrameState::Discarded,
                (true, false) => FrameState::Waiting,
            };
        }
        match responds {
            true => self.responses += 1,
            false => self.failures += 1,
        }
        self.report.collisions += u64::from(collides);
        responds
    }

    /// Lets the frames leave, or drops them, that wait for no earlier frame.
    fn release(&mut self, number: usize, now: Time, stations: &mut impl Stations) {
        while let Some(frame) = self.frames.front() {
            match frame.state {
                FrameState::Received => {
                    self.left += 1;
                    stations.leave(number, now);
                }
                FrameState::Discarded => {
                    self.discarded += 1;
                    stations.discard(number, now);
                }
                FrameState::Waiting | FrameState::Sending => return,
            }
            self.frames.pop_front();
        }
    }
}

impl Wifi {
    /// Creates the idle channel of these stations.
    pub(super) fn new(new: &[NewStation<'_>], seed: u64) -> Wifi {
        let first = config(&new[0]);
        let mut nodes: Vec<usize> = new.iter().map(|station| station.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let contender = |&node: &usize| Contender {
            state: ContenderState::Idle,
            backoffs: Stream::new(seed, "back-off", node as u64),
            failures: 0,
            expiry: 0,
            drawn_in: u64::MAX,
            listed: VecDeque::new(),
            repeats: None,
        };
        let station = |station: &NewStation<'_>| {
            let contender = nodes.partition_point(|&node| node < station.node);
            let own = config(station);
            let Some(phy) = own.phy(station.rate_bps) else {
                unreachable!("the check of the cell found the rate of the link")
            };
            Station::new(station, own, contender, phy, seed)
        };
        Wifi {
            sifs_ps: first.standard.sifs_ps(),
            aifs_ps: first.aifs_ps(),
            counts_busy_slots: first.counts_busy_slots(),
            cw_min: first.cw_min.into(),
            cw_max: first.cw_max.into(),
            scheduler: first.scheduler,
            quantum_ps: first.quantum_ps as i64,
            stations: new.iter().map(station).collect(),
            contenders: nodes.iter().map(contender).collect(),
            ready: BinaryHeap::new(),
            suspended: BinaryHeap::new(),
            resumes: Time::ZERO,
            slot: 0,
            busy_periods: 0,
            transmissions: Vec::new(),
            ends: None,
            next: None,
        }
    }

    /// Determines the time of the next event.
    fn schedule(&mut self) {
        self.next = self.ends.or_else(|| self.next_start());
        if let Some(&Reverse((resumed, _))) = self.suspended.peek() {
            self.next = Some(self.next.map_or(resumed, |next| next.min(resumed)));
        }
    }

    /// Draws the counter of a contender, which counts down from the next slot on.
    fn draw(&mut self, number: usize) {
        let contender = &mut self.contenders[number];
        let doublings = contender.failures.min(u64::BITS / 2);
        let window = ((self.cw_min + 1) << doublings).min(self.cw_max + 1);
        contender.expiry = self.slot + contender.backoffs.below(window);
        contender.drawn_in = self.busy_periods;
    }

    /// Makes a contender that has data again count down. A counter that has reached 0 is used at once if the channel is
    /// idle, in the next slot; otherwise, it is drawn.
    fn join(&mut self, now: Time, number: usize) {
        let contender = &mut self.contenders[number];
        contender.state = ContenderState::Ready;
        if self.ends.is_none() && now >= self.resumes {
            let next = self.slot + (now.0 - self.resumes.0) / SLOT_PS + 1;
            contender.expiry = contender.expiry.max(next);
        } else if contender.expiry <= self.slot && contender.drawn_in != self.busy_periods {
            self.draw(number);
        }
        self.ready.push(Reverse((self.contenders[number].expiry, number)));
    }

    /// Returns the start of the next transmission; None if no contender has data.
    fn next_start(&self) -> Option<Time> {
        let Reverse((expiry, _)) = self.ready.peek()?;
        Some(Time(self.resumes.0 + (expiry - self.slot) * SLOT_PS))
    }

    /// Begins the transmissions of all contenders whose counters are 0.
    fn begin(&mut self, now: Time, stations: &mut impl Stations) {
        let Some(&Reverse((expiry, _))) = self.ready.peek() else {
            return;
        };
        (self.slot, self.resumes) = (expiry, now);
        let mut data_ps = 0;
        while let Some(&Reverse((next, number))) = self.ready.peek() {
            if next > expiry {
                break;
            }
            self.ready.pop();
            data_ps = data_ps.max(self.transmit(number, now, stations));
        }
        let action = match self.transmissions.len() {
            0 | 1 => StationAction::Attempt,
            _ => StationAction::Collision,
        };
        for sent in &self.transmissions {
            let event = StationEvent {
                waited: sent.waited,
                ..StationEvent::new(action, sent.bytes)
            };
            stations.record(sent.station, now, event);
        }
        if !self.transmissions.is_empty() {
            self.slot += u64::from(self.counts_busy_slots);
            self.busy_periods += 1;
            self.ends = Some(Time(now.0 + data_ps));
        }
    }

    /// Begins the transmission of a contender. Returns the duration [ps] of its data, or 0 if it has no data.
    fn transmit(&mut self, number: usize, now: Time, stations: &mut impl Stations) -> u64 {
        loop {
            let Some(station) = self.choose(number, now) else {
                return 0;
            };
            let own = &mut self.stations[station];
            let (count, bytes) = own.assemble(station, now, stations);
            if count == 0 {
                // The queue discipline has dropped its packets.
                own.is_listed = false;
                own.waits_since = None;
                self.contenders[number].listed.retain(|&listed| listed != station);
                continue;
            }
            let data_ps = own.phy.duration_ps(bytes);
            let response_ps = self.sifs_ps
                + if count > 1 {
                    own.phy.block_ack_ps
                } else {
                    own.phy.ack_ps
                };
            let waited = Span(own.waits_since.take().map_or(0, |since| now.0 - since.0));
            own.report.waiting_for_medium = Span(own.report.waiting_for_medium.0 + waited.0);
            own.report.attempts += 1;
            self.contenders[number].state = ContenderState::Sending;
            self.transmissions.push(Transmission {
                station,
                bytes,
                waited,
                response_ps,
                airtime_ps: data_ps + response_ps,
            });
            return data_ps;
        }
    }

    /// Returns the station for which a contender transmits. Without one, the contender becomes idle, or waits for the end
    /// of suspensions.
    fn choose(&mut self, number: usize, now: Time) -> Option<usize> {
        let contender = &mut self.contenders[number];
        let until = |station: usize| self.stations[station].suspended_until(now);
        let resumes = match contender.repeats {
            Some(station) => until(station),
            None => contender.listed.iter().try_fold(Time(u64::MAX), |earliest, &station| {
                until(station).map(|end| earliest.min(end))
            }),
        };
        if contender.listed.is_empty() {
            contender.state = ContenderState::Idle;
            return None;
        }
        if let Some(end) = resumes {
            contender.state = ContenderState::Suspended;
            self.suspended.push(Reverse((end, number)));
            return None;
        }
        if let Some(station) = contender.repeats {
            return Some(station);
        }
        loop {
            let station = *contender.listed.front()?;
            let own = &mut self.stations[station];
            let is_suspended = own.suspended_until(now).is_some();
            if !is_suspended && (self.scheduler == Scheduler::Frames || own.credit_ps >= 0) {
                return Some(station);
            }
            if !is_suspended {
                own.credit_ps += self.quantum_ps;
            }
            contender.listed.rotate_left(1);
        }
    }

    /// Ends the transmissions in progress.
    fn finish(&mut self, now: Time, stations: &mut impl Stations) {
        self.ends = None;
        let transmissions = std::mem::take(&mut self.transmissions);
        let collides = transmissions.len() > 1;
        let response_ps = transmissions.iter().map(|sent| sent.response_ps).max();
        self.resumes = Time(now.0 + response_ps.unwrap_or(0) + self.aifs_ps);
        for sent in &transmissions {
            let station = &mut self.stations[sent.station];
            let responds = station.finish(collides);
            station.release(sent.station, now, stations);
            station.report.airtime = Span(station.report.airtime.0 + sent.airtime_ps);
            station.credit_ps -= sent.airtime_ps as i64;
            let repeats = !responds && station.frames.iter().any(|frame| frame.state == FrameState::Waiting);
            let has_data = station.has_data(sent.station, stations);
            station.is_listed = has_data;
            station.waits_since = has_data.then_some(Time(now.0 + sent.response_ps));
            let (number, retry_limit) = (station.contender, station.retry_limit);
            let contender = &mut self.contenders[number];
            contender.repeats = repeats.then_some(sent.station);
            contender.failures = match responds {
                true => 0,
                false => (contender.failures + 1) % retry_limit,
            };
            if !has_data {
                contender.listed.retain(|&listed| listed != sent.station);
            } else if self.scheduler == Scheduler::Frames && !repeats && contender.listed.front() == Some(&sent.station)
            {
                contender.listed.rotate_left(1);
            }
            let is_idle = contender.listed.is_empty();
            contender.state = if is_idle {
                ContenderState::Idle
            } else {
                ContenderState::Ready
            };
            self.draw(number);
            if !is_idle {
                self.ready.push(Reverse((self.contenders[number].expiry, number)));
            }
        }
        self.transmissions = transmissions;
        self.transmissions.clear();
    }
}

impl MediumAccess for Wifi {
    fn arrived(&mut self, now: Time, station: usize, _bytes: u64, _stations: &mut impl Stations) {
        let own = &mut self.stations[station];
        if own.is_listed {
            return;
        }
        // A listed station already waits, or sends.
        own.is_listed = true;
        own.waits_since = Some(now);
        let number = own.contender;
        self.contenders[number].listed.push_back(station);
        if self.contenders[number].state == ContenderState::Idle {
            self.join(now, number);
            self.schedule();
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.next
    }

    fn wake(&mut self, now: Time, stations: &mut impl Stations) {
        if self.ends.is_some_and(|end| end <= now) {
            self.finish(now, stations);
        } else if self.ends.is_none() && self.next_start().is_some_and(|start| start <= now) {
            self.begin(now, stations);
        }
        while let Some(&Reverse((end, number))) = self.suspended.peek() {
            if end > now {
                break;
            }
            self.suspended.pop();
            self.join(now, number);
        }
        self.schedule();
    }

    fn report(&self, station: usize, now: Time) -> AccessReport {
        let own = &self.stations[station];
        let waiting = own.waits_since.map_or(0, |since| now.0.saturating_sub(since.0));
        AccessReport {
            waiting_for_medium: Span(own.report.waiting_for_medium.0 + waiting),
            ..own.report
        }
    }

    fn conserves(&self, _now: Time) -> bool {
        self.stations.iter().enumerate().all(|(number, station)| {
            let sending = self.transmissions.iter().filter(|sent| sent.station == number).count() as u64;
            station.taken == station.left + station.discarded + station.frames.len() as u64
                && station.report.attempts == station.responses + station.failures + sending
                && station.report.collisions <= station.failures
        })
    }
}

#[cfg(test)]
mod tests;
