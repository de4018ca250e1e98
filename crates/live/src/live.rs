//! The path in time with the clock: what the devices bring enters, and leaves again when it is due.

use crate::capture::Capture;
use crate::clock::{nanoseconds, sleep, Clock};
use crate::device::Device;
use crate::headers::{headers, mark, FlowKey};
use crate::lateness::Histogram;
use crate::path::{Arrival, Counts, Path};
use crate::record::Recorder;
use crate::rest::Rest;
use crate::store::Store;
use longpipe_events::{Span, Time};
use longpipe_network::Fate;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};

/// Packets taken from one device before it is seen what is due.
const BATCH: usize = 16;
/// What simulated flows do is caught up with at least so often [ns], so that there is little of it when a packet is due.
const CATCH_UP: u64 = 1_000_000;
/// Longest sleep [ns].
const LONGEST_SLEEP: u64 = 50_000_000;
/// Between two looks whether to stop, and two words on how it goes.
const BETWEEN_LOOKS: Span = Span(100_000_000_000);
/// Flows told apart, at most; all others are told apart by a hash.
const KNOWN_FLOWS: usize = 1 << 16;

/// A host at which real programs run.
#[derive(Debug)]
pub struct Host {
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Its device.
    pub device: Device,
}

/// Foreign flows between two hosts, over which real flows are spread as they come.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The flows' sender and receiver, by number of the host.
    pub ends: [usize; 2],
    /// The first of them.
    pub first: u32,
    /// How many.
    pub flows: u32,
}

/// How the loop is to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long it looks at the clock rather than sleep before something is due [ns].
    pub spin_ns: u64,
    /// What is later than this is counted [ns].
    pub late_ns: u64,
    /// Whether the thread is of real-time priority, and leaves the processor to others now and then.
    pub real_time: bool,
    /// The host that is the way to all addresses that no host has.
    pub outside: Option<usize>,
}

/// How a run goes, or went.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// Since it began.
    pub elapsed: Time,
    /// What became of the packets that entered.
    pub counts: Counts,
    /// A hash of all decisions.
    pub decisions: u64,
    /// Packets to addresses that no way leads to.
    pub no_way: u64,
    /// What is no IP packet, or a longer one than the path carries.
    pub unfit: u64,
    /// Packets that a device did not take when they were due.
    pub refused: u64,
    /// How much later than due packets left.
    pub lateness: Histogram,
    /// Packets later than the limit.
    pub late: u64,
    /// Longest time for which nothing was looked at, but for sleep [ns].
    pub longest_pause_ns: u64,
}

/// The devices, the path between them, and what is under way.
#[derive(Debug)]
pub struct Live {
    path: Path,
    hosts: Vec<Host>,
    by_address: HashMap<IpAddr, usize>,
    /// By host from which and to which; the flag says that it leads from a flow's receiver to its sender.
    ways: Vec<Vec<Option<(Way, bool)>>>,
    longest: usize,
    flows: HashMap<FlowKey, u32>,
    store: Store,
    recorder: Option<Recorder>,
    capture: Option<Capture>,
    options: Options,
    said: Said,
}

impl Live {
    /// Nothing has entered yet; packets of more than `longest` bytes never will.
    pub fn new(path: Path, hosts: Vec<Host>, ways: &[Way], longest: usize, options: Options) -> Live {
        let mut table = vec![vec![None; hosts.len()]; hosts.len()];
        for &way in ways {
            let [from, to] = way.ends;
            table[from][to] = Some((way, false));
            table[to][from] = Some((way, true));
        }
        let addresses = |(number, host): (usize, &Host)| -> Vec<(IpAddr, usize)> {
            host.addresses.iter().map(|&address| (address, number)).collect()
        };
        Live {
            by_address: hosts.iter().enumerate().flat_map(addresses).collect(),
            path,
            hosts,
            ways: table,
            longest,
            flows: HashMap::new(),
            store: Store::default(),
            recorder: None,
            capture: None,
            options,
            said: Said::default(),
        }
    }

    /// Keeps what enters.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Writes what passes.
    pub fn capture(&mut self, capture: Capture) {
        self.capture = Some(capture);
    }

    /// Carries packets until `stop` can be read or is closed; `watch` hears now and then how it goes.
    ///
    /// # Errors
    /// A device is gone, or the record can't be written.
    pub fn run(mut self, stop: BorrowedFd<'_>, watch: &Mutex<Said>) -> io::Result<(Said, Path)> {
        let clock = Clock::default();
        let (mut looked, mut told) = (clock.now(), Time::ZERO);
        let mut rest = Rest::new(self.options.spin_ns, self.options.real_time, looked);
        loop {
            let mut now = clock.now();
            self.said.longest_pause_ns = self.said.longest_pause_ns.max(nanoseconds(looked, now));
            looked = now;
            let mut busy = false;
            for host in 0..self.hosts.len() {
                self.let_out(now, &clock);
                busy |= self.take_in(host, &clock)?;
                now = clock.now();
            }
            if now >= told + BETWEEN_LOOKS {
                told = now;
                self.tell(now, watch);
                if is_over(stop)? || now >= self.path.end() {
                    break;
                }
            }
            if let Some(nap) = rest.nap(now) {
                let woken = sleep(&mut [PollFd::from_borrowed_fd(stop, PollFlags::IN)], nap)? > 0;
                rest.slept(now, clock.now(), (!woken).then_some(nap));
                if woken {
                    break;
                }
            } else if let Some(asked) = (!busy).then(|| self.idle(now, rest.margin())).flatten() {
                let devices = self.hosts.iter().map(|host| host.device.descriptor());
                let mut descriptors: Vec<PollFd<'_>> = devices
                    .chain([stop])
                    .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
                    .collect();
                let woken = sleep(&mut descriptors, asked)? > 0;
                looked = clock.now();
                rest.slept(now, looked, (!woken).then_some(asked));
                if descriptors.last().is_some_and(|stop| !stop.revents().is_empty()) {
                    break;
                }
            }
        }
        self.finish(&clock, watch)
    }

    /// How long it may sleep so that it is awake `margin` before a packet is due, if nothing comes [ns]; none: not at all.
    fn idle(&mut self, now: Time, margin: u64) -> Option<u64> {
        let (due, next) = (self.path.horizon(), self.path.next_due());
        let wait = nanoseconds(now, due).checked_sub(margin).filter(|&wait| wait > 0)?;
        let longest = if next < due {
            CATCH_UP.max(nanoseconds(now, next))
        } else {
            LONGEST_SLEEP
        };
        Some(wait.min(longest).min(LONGEST_SLEEP))
    }

    fn finish(mut self, clock: &Clock, watch: &Mutex<Said>) -> io::Result<(Said, Path)> {
        let now = clock.now();
        self.let_out(now, clock);
        self.tell(now, watch);
        if let Some(recorder) = self.recorder {
            recorder.finish(self.path.now(), self.path.decisions())?;
        }
        if let Some(capture) = self.capture {
            capture.finish()?;
        }
        Ok((self.said, self.path))
    }

    fn tell(&mut self, now: Time, watch: &Mutex<Said>) {
        self.said.elapsed = now;
        self.said.counts = self.path.counts();
        self.said.decisions = self.path.decisions();
        *watch.lock().unwrap_or_else(PoisonError::into_inner) = self.said.clone();
    }

    /// What is due by `now` leaves.
    fn let_out(&mut self, now: Time, clock: &Clock) {
        for outcome in self.path.advance_to(now) {
            let Some(mut kept) = self.store.take(outcome.id) else {
                continue;
            };
            match outcome.fate {
                Fate::Delivered { marked } => {
                    if marked {
                        mark(&mut kept.packet);
                    }
                    let taken = self.hosts[kept.to].device.deliver(&kept.packet);
                    let late = nanoseconds(outcome.time, clock.now());
                    self.said.refused += u64::from(!taken);
                    self.said.late += u64::from(late > self.options.late_ns);
                    self.said.lateness.add(late);
                    if let Some(capture) = &mut self.capture {
                        capture.leaves(outcome.time, &kept.packet);
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
    }

    /// What a host's kernel has sent enters; whether there was anything.
    fn take_in(&mut self, from: usize, clock: &Clock) -> io::Result<bool> {
        for count in 0..BATCH {
            let Some(packet) = self.hosts[from].device.receive()? else {
                return Ok(count > 0);
            };
            let Some(found) = headers(packet).filter(|found| usize::from(found.bytes) <= self.longest) else {
                self.said.unfit += 1;
                continue;
            };
            let to = self.by_address.get(&found.flow.to).copied().or(self.options.outside);
            let way = to.and_then(|to| self.ways[from][to].map(|way| (to, way)));
            let Some((to, (way, back))) = way else {
                self.said.no_way += 1;
                continue;
            };
            let number = number_of(&mut self.flows, found.flow);
            let arrival = Arrival {
                at: clock.now().max(self.path.now()),
                circuit: 2 * (way.first + number % way.flows) + u32::from(back),
                bytes: found.bytes,
                capable: found.capable,
                marked: found.marked,
            };
            if arrival.at >= self.path.end() {
                return Ok(false);
            }
            let packet = &packet[..usize::from(found.bytes)];
            if let Some(capture) = &mut self.capture {
                let Counts { entered, delivered, .. } = self.path.counts();
                capture.enters(arrival.at, packet, entered - delivered - self.path.counts().all_lost());
            }
            self.path.enter(arrival);
            self.store.put(to, packet);
            if let Some(recorder) = &mut self.recorder {
                recorder.put(&arrival);
            }
        }
        Ok(true)
    }
}

/// A flow's number: the same both ways, in the order in which they come.
fn number_of(flows: &mut HashMap<FlowKey, u32>, flow: FlowKey) -> u32 {
    let [a, b, c, d] = flow.ports;
    let back = FlowKey {
        from: flow.to,
        to: flow.from,
        ports: [c, d, a, b],
        ..flow
    };
    if let Some(&number) = flows.get(&flow).or_else(|| flows.get(&back)) {
        return number;
    }
    if flows.len() >= KNOWN_FLOWS {
        return u32::from_be_bytes(flow.ports) ^ u32::from_be_bytes(back.ports);
    }
    let number = flows.len() as u32;
    flows.insert(flow, number);
    number
}

/// Whether somebody has written to `stop` or closed its other end.
fn is_over(stop: BorrowedFd<'_>) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut descriptors = [PollFd::from_borrowed_fd(stop, PollFlags::IN)];
    match poll(&mut descriptors, Some(&now)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
