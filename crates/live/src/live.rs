//! Runs a path in real time: packets from devices enter the path, and leave it when they are due.

use crate::capture::Capture;
use crate::clock::{nanoseconds, sleep, Clock};
use crate::connections::Connections;
use crate::device::Host;
use crate::due_queue::{Due, DueQueue};
use crate::headers::{headers, mark};
use crate::intake::Intake;
use crate::path::{Arrival, Counts, Path};
use crate::record::Recorder;
use crate::routes::{FlowPool, Routes};
use crate::sleep_history::{SleepHistory, MAX_LATENCY_NS};
use crate::status::LiveStatus;
use crate::store::Store;
use longpipe_events::{Span, Time};
use longpipe_network::Fate;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};

/// Maximum number of packets that are received from a device before the thread checks for due packets.
const BATCH: u64 = 16;
/// Maximum interval [ns] between updates of the simulated flows, so that little of this work remains when a packet is
/// due.
const CATCH_UP: u64 = 1_000_000;
/// Maximum sleep [ns].
const LONGEST_SLEEP: u64 = 50_000_000;
/// The loop sleeps at most for one part in this number of the limit of lateness. A process that is stopped while it sleeps
/// cannot know when it was stopped, so this is the uncertainty of the length of a stop.
const SLEEPS_PER_LIMIT: u64 = 16;
/// For small limits, the loop sleeps for up to this time [ns], or a quarter of the limit, to save processor time.
const SHORTEST_SLEEP: u64 = 250_000;
/// Time between two polls of a device [ns] above which a packet read by the second poll may have waited for this time.
/// Below, the mean wait is a few microseconds.
const UNSEEN_NS: u64 = 100_000;
/// Interval at which the stop descriptor is checked and progress is published.
const CHECK_INTERVAL: Span = Span(100_000_000_000);
/// Interval at which the capture and the record are written, so that they exist if the process is killed.
const WRITE_INTERVAL: Span = Span(1_000_000_000_000);

/// Options of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Time [ns] before a packet is due during which the loop spins instead of sleeping.
    pub spin_ns: u64,
    /// Lateness above which packets count as late [ns].
    pub late_ns: u64,
    /// Whether the thread has real-time priority and therefore yields the processor regularly.
    pub real_time: bool,
    /// Host to which packets are routed if no host has their destination address.
    pub outside: Option<usize>,
}

/// Devices, the path between them, and the packets in flight.
#[derive(Debug)]
pub struct Live {
    path: Path,
    hosts: Vec<Host>,
    /// Host whose packets are received next.
    turn: usize,
    /// For each host, the time at which a packet from its device ended a sleep.
    waiting: Vec<Option<Time>>,
    /// For each host, the time of the last poll of its device.
    polled: Vec<Time>,
    routes: Routes,
    due_queue: DueQueue,
    longest: usize,
    store: Store,
    recorder: Option<Recorder>,
    capture: Option<Capture>,
    connections: Connections,
    options: Options,
    status: LiveStatus,
}

impl Live {
    /// Creates an idle loop, which rejects packets that are longer than `longest` bytes.
    pub fn new(path: Path, hosts: Vec<Host>, pools: &[FlowPool], longest: usize, options: Options) -> Live {
        let addresses: Vec<_> = hosts.iter().map(|host| host.addresses.clone()).collect();
        let status = LiveStatus {
            delivered_bytes: vec![0; hosts.len()],
            ..LiveStatus::default()
        };
        Live {
            path,
            turn: 0,
            waiting: vec![None; hosts.len()],
            polled: vec![Time::ZERO; hosts.len()],
            routes: Routes::new(&addresses, pools, options.outside),
            hosts,
            due_queue: DueQueue::new(options.late_ns),
            longest,
            store: Store::default(),
            recorder: None,
            capture: None,
            connections: Connections::default(),
            options,
            status,
        }
    }

    /// Records the packets that enter the path.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Captures the packets that enter and leave the path.
    pub fn capture(&mut self, capture: Capture) {
        self.capture = Some(capture);
    }

    /// Forwards packets until `stop` is readable or closed, and publishes its state in `watch`.
    ///
    /// # Errors
    /// Returns an error if a device no longer exists or the record cannot be written.
    pub fn run(mut self, stop: BorrowedFd<'_>, watch: &Mutex<LiveStatus>) -> io::Result<(LiveStatus, Path)> {
        // Packets that programs sent before the path began have no time on it.
        for host in &mut self.hosts {
            while host.device.receive()?.is_some() {}
        }
        let clock = Clock::default();
        let (mut last_reading, mut published, mut written) = (clock.now(), Time::ZERO, Time::ZERO);
        self.polled.fill(last_reading);
        let mut sleep_history = SleepHistory::new(self.options.spin_ns, self.options.real_time, last_reading);
        let mut intake = Intake::new(last_reading);
        loop {
            let mut now = clock.now();
            self.status.longest_pause_ns = self.status.longest_pause_ns.max(nanoseconds(last_reading, now));
            last_reading = now;
            let mut busy = false;
            for _ in 0..self.hosts.len() {
                let left = self.pass_due_packets(now, &clock);
                let between = clock.now();
                intake.left(left, nanoseconds(now, between));
                now = between;
                if !intake.is_open(now) {
                    busy = true;
                    continue;
                }
                let entered = self.take_in(self.turn, &clock)?;
                self.turn = (self.turn + 1) % self.hosts.len();
                now = clock.now();
                intake.entered(entered, nanoseconds(between, now));
                busy |= entered > 0;
            }
            if now >= published + CHECK_INTERVAL {
                published = now;
                self.publish(now, watch);
                if is_over(stop)? || now >= self.path.end() {
                    break;
                }
            }
            if now >= written + WRITE_INTERVAL {
                written = now;
                self.write();
            }
            if let Some(nap) = sleep_history.nap_ns(now) {
                let interrupted = sleep(&mut [PollFd::from_borrowed_fd(stop, PollFlags::IN)], nap)? > 0;
                let awake = clock.now();
                sleep_history.record(now, awake, (!interrupted).then_some(nap));
                intake.napped(awake);
                if interrupted {
                    break;
                }
            } else if let Some(requested) = (!busy)
                .then(|| self.idle(now, sleep_history.margin_ns() + self.due_queue.lead_ns(now)))
                .flatten()
            {
                let devices = self.hosts.iter().map(|host| host.device.descriptor());
                let mut descriptors: Vec<PollFd<'_>> = devices
                    .chain([stop])
                    .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
                    .collect();
                let interrupted = sleep(&mut descriptors, requested)? > 0;
                let awake = clock.now();
                sleep_history.record(now, awake, (!interrupted).then_some(requested));
                let unnoticed_ns = sleep_history.max_unnoticed_ns(now, awake, requested);
                self.status.longest_pause_ns = self.status.longest_pause_ns.max(unnoticed_ns);
                // After a stop, the arrival is unknown.
                let arrived = (unnoticed_ns <= MAX_LATENCY_NS).then(|| sleep_history.arrival_before_wakeup(now, awake));
                let hosts = self.waiting.iter_mut().zip(&mut self.polled).zip(&descriptors);
                for ((waiting, polled), descriptor) in hosts {
                    if descriptor.revents().is_empty() {
                        *polled = awake;
                    } else {
                        *waiting = arrived;
                    }
                }
                last_reading = awake;
                if descriptors.last().is_some_and(|stop| !stop.revents().is_empty()) {
                    break;
                }
            }
        }
        self.finish(&clock, watch)
    }

    /// Returns how long the loop may sleep so that it is awake `margin` before a packet is due [ns]; None if it must
    /// not sleep.
    fn idle(&mut self, now: Time, margin: u64) -> Option<u64> {
        let (due, next) = (self.path.horizon(), self.path.next_due());
        let wait = nanoseconds(now, due).checked_sub(margin).filter(|&wait| wait > 0)?;
        let longest = if next < due {
            CATCH_UP.max(nanoseconds(now, next))
        } else {
            LONGEST_SLEEP
        };
        Some(wait.min(longest.min(longest_sleep(self.options.late_ns))))
    }

    fn finish(mut self, clock: &Clock, watch: &Mutex<LiveStatus>) -> io::Result<(LiveStatus, Path)> {
        let now = clock.now();
        self.pass_due_packets(now, clock);
        self.status.connections = self.connections.with_data();
        self.publish(now, watch);
        if let Some(recorder) = self.recorder {
            recorder.finish(self.path.now(), self.path.decisions())?;
        }
        if let Some(capture) = self.capture {
            capture.finish()?;
        }
        Ok((self.status, self.path))
    }

    /// Writes what the capture and the record have buffered.
    fn write(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.flush();
        }
        if let Some(capture) = &mut self.capture {
            capture.flush();
        }
    }

    fn publish(&mut self, now: Time, watch: &Mutex<LiveStatus>) {
        self.status.elapsed = now;
        self.status.counts = self.path.counts();
        self.status.decisions = self.path.decisions();
        *watch.lock().unwrap_or_else(PoisonError::into_inner) = self.status.clone();
    }

    /// Passes all packets that are due by `now` to their devices. Returns the number of these packets.
    fn pass_due_packets(&mut self, now: Time, clock: &Clock) -> u64 {
        let mut left = 0;
        let until = self.due_queue.begin(now, &mut self.path);
        for outcome in self.path.advance_to(until) {
            let Some(mut kept) = self.store.take(outcome.id) else {
                continue;
            };
            match outcome.fate {
                Fate::Delivered { marked } => {
                    if marked {
                        mark(&mut kept.packet);
                    }
                    left += 1;
                    self.status.delivered_bytes[kept.to] += kept.packet.len() as u64;
                    let (hosts, status) = (&mut self.hosts, &mut self.status);
                    let due = Due {
                        at: outcome.time,
                        entered_late_ns: kept.late_ns,
                    };
                    self.due_queue.put(due, kept.to, &kept.packet, hosts, status, clock);
                    if let Some(capture) = &mut self.capture {
                        capture.leaves(outcome.time, kept.to, &kept.packet);
                    }
                }
                Fate::Lost { link, cause } => {
                    if let Some(capture) = &mut self.capture {
                        capture.loses(outcome.time, &kept.packet, link, cause);
                    }
                }
            }
            self.store.give_back(kept);
        }
        if let Some(capture) = &mut self.capture {
            capture.advance_to(until);
        }
        self.due_queue.flush(&mut self.hosts, &mut self.status, clock);
        left
    }

    /// Receives packets from a host's kernel. Returns the number of these packets.
    fn take_in(&mut self, from: usize, clock: &Clock) -> io::Result<u64> {
        let mut waiting = self.waiting[from].take();
        let polled = std::mem::replace(&mut self.polled[from], clock.now());
        // A packet whose arrival is not known may have arrived just after the previous poll.
        let unseen_ns = nanoseconds(polled, self.polled[from]);
        let late_ns = if waiting.is_none() && unseen_ns > UNSEEN_NS {
            unseen_ns
        } else {
            0
        };
        for count in 0..BATCH {
            let Some(packet) = self.hosts[from].device.receive()? else {
                return Ok(count);
            };
            // The first packet ended the sleep, so it arrived slightly earlier than it is read.
            let at = waiting.take().unwrap_or_else(|| clock.now()).max(self.path.now());
            let Some(headers_of) = headers(packet).filter(|headers_of| usize::from(headers_of.bytes) <= self.longest)
            else {
                self.status.rejected += 1;
                continue;
            };
            let Some(route) = self.routes.find(from, headers_of.flow) else {
                self.status.no_route += 1;
                continue;
            };
            let arrival = Arrival {
                at,
                circuit: route.circuit,
                bytes: headers_of.bytes,
                capable: headers_of.capable,
                scalable: headers_of.scalable,
                marked: headers_of.marked,
            };
            if arrival.at >= self.path.end() {
                return Ok(count);
            }
            let packet = &packet[..usize::from(headers_of.bytes)];
            self.connections
                .enter(at, headers_of.flow, packet, headers_of.header_bytes);
            if let Some(capture) = &mut self.capture {
                let Counts { entered, delivered, .. } = self.path.counts();
                capture.enters(
                    arrival.at,
                    from,
                    packet,
                    entered - delivered - self.path.counts().all_lost(),
                );
            }
            self.path.enter(arrival);
            self.status.late += u64::from(late_ns > self.options.late_ns);
            self.store.put(route.to, packet, late_ns);
            if let Some(recorder) = &mut self.recorder {
                recorder.put(&arrival);
            }
        }
        Ok(BATCH)
    }
}

/// Returns whether `stop` is readable or closed.
fn is_over(stop: BorrowedFd<'_>) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut descriptors = [PollFd::from_borrowed_fd(stop, PollFlags::IN)];
    match poll(&mut descriptors, Some(&now)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the maximum sleep [ns] between packets for a limit of lateness [ns].
fn longest_sleep(late_ns: u64) -> u64 {
    (late_ns / SLEEPS_PER_LIMIT)
        .clamp(SHORTEST_SLEEP.min(late_ns / 4), LONGEST_SLEEP)
        .max(UNSEEN_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_duration_is_accurate_to_a_sixteenth_above_4_ms() {
        for limit_ms in [4, 10, 200, 800] {
            assert_eq!(longest_sleep(limit_ms * 1_000_000), limit_ms * 1_000_000 / 16);
        }
        assert_eq!(longest_sleep(1_000_000), 250_000);
        assert_eq!(longest_sleep(400_000), 100_000);
        assert_eq!(longest_sleep(0), UNSEEN_NS);
        assert_eq!(longest_sleep(u64::MAX), LONGEST_SLEEP);
    }
}
