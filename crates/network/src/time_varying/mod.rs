//! Time-varying links: the times at which a packet leaves the transmitter and arrives at the end of the wire.
//!
//! All series (rate, delay, outages) are independent of packets. The outcome for a packet is therefore known as soon as
//! the packet is next in line for transmission.

pub(crate) mod delay;
mod opportunities;
pub(crate) mod order;
mod outages;
mod slots;
mod steps;
mod undisturbed;

use crate::bounds::AFTER_ANY_RUN;
use crate::conditioners::aggregation::Aggregation;
use crate::conditioners::jitter::LinkJitter;
use crate::scenario::time_varying::{HoldOrDrop, InFlight, InService, ServiceConfig};
use crate::scenario::LinkConfig;
use delay::Delay;
use longpipe_events::{Rate, Time, PS_PER_SECOND};
use opportunities::Opportunities;
use order::{Order, Overtakings};
use outages::Outages;
use slots::TimeVaryingSlots;
use steps::{work, Exact, RateSteps};

/// Times of a packet's transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    /// Time at which the transmission of its first bit starts.
    pub begins: Time,
    /// Time at which the transmission of its last bit ends.
    pub ends: Time,
}

/// Outcome for a packet that was admitted to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransmissionOutcome {
    /// The packet is transmitted.
    Leaves(Service),
    /// An outage drops the packet at this time.
    Dropped(Time),
}

/// Packets at a port that are dropped when an outage begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutageDrops {
    /// Whether the waiting packets are dropped.
    pub waiting: bool,
    /// Whether the packet in transmission is dropped.
    pub in_service: bool,
}

/// Outcome for a packet that was transmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// The packet arrives at this time.
    Arrives(Time),
    /// An outage loses the packet on the wire at this time.
    Lost(Time),
}

/// The transmitter of a time-varying link.
#[derive(Clone, Debug)]
enum Transmitter {
    Steps {
        steps: RateSteps,
        /// End of the last packet's transmission.
        free: Exact,
    },
    Opportunities(Opportunities),
    Slots(TimeVaryingSlots),
}

/// A time-varying link with FIFO service: transmitter, wire and outages.
#[derive(Clone, Debug)]
pub(crate) struct TimeVaryingLink {
    line: Transmitter,
    outages: Option<Outages>,
    delay: Delay,
    jitter: Option<Box<LinkJitter>>,
    aggregation: Option<Box<Aggregation>>,
    order: Order,
    /// Rate of the transmitter, if it is constant.
    rate: Option<Rate>,
}

impl TimeVaryingLink {
    /// Returns the transmitter and wire of a link that carries packets, if they vary over time or from packet to
    /// packet.
    pub fn new(link: &LinkConfig, jitter: Option<Box<LinkJitter>>) -> Option<TimeVaryingLink> {
        link.varies().then(|| TimeVaryingLink::of_packets(link, jitter))
    }

    /// Returns the transmitter and wire of a link that carries packets, whether they vary or not.
    pub fn of_packets(link: &LinkConfig, jitter: Option<Box<LinkJitter>>) -> TimeVaryingLink {
        let service = link.motion.as_deref().and_then(|motion| motion.service.as_ref());
        let line = match service {
            Some(ServiceConfig::Opportunities {
                instants_ps,
                bytes,
                header_bytes,
            }) => Transmitter::Opportunities(Opportunities::new(instants_ps.clone(), *bytes, *header_bytes)),
            Some(ServiceConfig::Steps { .. }) | None => Transmitter::Steps {
                steps: steps(link),
                free: Exact::default(),
            },
        };
        TimeVaryingLink {
            jitter,
            aggregation: Aggregation::among(&link.conditioners).map(Box::new),
            ..TimeVaryingLink::of_line(link, line)
        }
    }

    /// Creates the transmitter and the wire of a link that carries cells, or None if the link is static. The first slot
    /// starts at `phase`.
    pub fn of_cells(link: &LinkConfig, phase: Time) -> Option<TimeVaryingLink> {
        let line = || Transmitter::Slots(TimeVaryingSlots::new(steps(link), phase));
        link.motion.is_some().then(|| TimeVaryingLink::of_line(link, line()))
    }

    fn of_line(link: &LinkConfig, line: Transmitter) -> TimeVaryingLink {
        let config = link.motion.as_deref();
        let delay = config.and_then(|config| config.delay.as_ref());
        let outages = config.and_then(|config| config.outages.clone());
        let constant = config.is_none_or(|config| config.service.is_none());
        TimeVaryingLink {
            line,
            outages: outages.map(Outages::new),
            delay: delay.map_or_else(|| Delay::fixed(link.delay_ps), Delay::new),
            jitter: None,
            aggregation: None,
            order: Order::new(link.order()),
            rate: constant.then_some(Rate(link.rate_bps)),
        }
    }

    /// Returns whether a packet's buffer space is freed at the start of its transmission instead of at the end.
    #[inline]
    pub fn frees_at_begin(&self) -> bool {
        matches!(self.line, Transmitter::Opportunities(_))
    }

    /// Returns whether a packet that arrives at `arrival` is dropped because of an outage.
    #[inline]
    pub fn refuses(&mut self, arrival: Time) -> bool {
        self.outages
            .as_mut()
            .filter(|outages| outages.config.arriving == HoldOrDrop::Drop)
            .is_some_and(|outages| outages.end(arrival.0).is_some())
    }

    /// Returns the start of the outage that drops a packet that arrives at `arrival` and would be transmitted as given
    /// by `service`; None if no outage drops it.
    #[inline]
    pub fn dropped(&mut self, arrival: Time, service: Service) -> Option<Time> {
        let outages = self.outages.as_mut()?;
        let waiting = (outages.config.waiting == HoldOrDrop::Drop)
            .then(|| outages.next_begin(arrival.0))
            .flatten()
            .filter(|&begin| begin <= service.begins.0);
        waiting.map(Time).or_else(|| self.interrupted(service))
    }

    /// Returns the start of the outage that drops the packet in transmission, if any.
    #[inline]
    pub fn interrupted(&mut self, service: Service) -> Option<Time> {
        let outages = self.outages.as_mut()?;
        (outages.config.in_service == InService::Drop)
            .then(|| outages.next_begin(service.begins.0))
            .flatten()
            .filter(|&begin| begin < service.ends.0)
            .map(Time)
    }

    /// Determines the outcome for a packet that arrives at `arrival`; packets must be admitted in order.
    #[inline]
    pub fn admit(&mut self, arrival: Time, bytes: u16) -> TransmissionOutcome {
        let before = self.free();
        let service = self.serve(arrival, bytes);
        let Some(at) = self.dropped(arrival, service) else {
            return TransmissionOutcome::Leaves(service);
        };
        let free = if at > service.begins {
            Exact { whole: at.0, part: 0 }
        } else {
            before
        };
        if let Some(last) = self.free_mut() {
            *last = free;
        }
        TransmissionOutcome::Dropped(at)
    }

    #[inline]
    fn free(&self) -> Exact {
        match &self.line {
            Transmitter::Steps { free, .. } => *free,
            Transmitter::Slots(slots) => slots.next,
            Transmitter::Opportunities(_) => Exact::default(),
        }
    }

    #[inline]
    fn free_mut(&mut self) -> Option<&mut Exact> {
        match &mut self.line {
            Transmitter::Steps { free, .. } => Some(free),
            Transmitter::Slots(slots) => Some(&mut slots.next),
            Transmitter::Opportunities(_) => None,
        }
    }

    /// Transmits the packet that arrives at `arrival`, after all earlier packets, unless an outage drops it.
    #[inline]
    pub fn serve(&mut self, arrival: Time, bytes: u16) -> Service {
        self.ready(arrival);
        self.transmit(u64::from(bytes))
    }

    /// Returns the time at which the transmitter can start to send a packet that arrives at `arrival`, after all
    /// earlier packets: when the transmitter is free and no outage is in progress, or at the next opportunity. A rate
    /// of zero does not delay the start: the packet is in service until the rate rises.
    #[inline]
    pub fn ready(&mut self, arrival: Time) -> Time {
        match &mut self.line {
            Transmitter::Opportunities(opportunities) => Time(opportunities.ready(arrival.0)),
            Transmitter::Slots(slots) => Time(slots.ready(self.outages.as_mut(), arrival.0)),
            Transmitter::Steps { free, .. } => {
                if arrival.0 > free.whole {
                    *free = Exact {
                        whole: arrival.0,
                        part: 0,
                    };
                }
                if let Some(end) = self.outages.as_mut().and_then(|outages| outages.end(free.whole)) {
                    *free = Exact { whole: end, part: 0 };
                }
                if let Some(interval) = self
                    .aggregation
                    .as_ref()
                    .and_then(|aggregation| aggregation.interval_ps())
                {
                    align(free, interval, self.outages.as_mut());
                }
                Time(free.whole)
            }
        }
    }

    /// Transmits a packet, or a batch after its overhead, starting at the time that `ready` has just returned.
    #[inline]
    pub fn transmit(&mut self, bytes: u64) -> Service {
        let (begins, ends) = match &mut self.line {
            Transmitter::Opportunities(opportunities) => opportunities.transmit(bytes),
            Transmitter::Slots(slots) => slots.transmit(self.outages.as_mut()),
            Transmitter::Steps { steps, free } => {
                let begins = free.whole;
                if let Some(aggregation) = &self.aggregation {
                    wait(free, aggregation.overhead_ps(), self.outages.as_mut());
                }
                *free = finish(steps, self.outages.as_mut(), *free, work(bytes));
                (begins, free.whole)
            }
        };
        Service {
            begins: Time(begins),
            ends: Time(ends),
        }
    }

    /// Aborts, at `now`, the transmission in progress, and frees the transmitter.
    pub fn stop(&mut self, now: Time) {
        if let Some(free) = self.free_mut() {
            *free = Exact { whole: now.0, part: 0 };
        }
    }

    /// Determines the outcome for a transmitted packet on the wire; packets must be passed in order. `now` is the
    /// current time.
    #[inline]
    pub fn pass(&mut self, now: Time, service: Service) -> Passage {
        let Service { begins, ends } = service;
        let arrival = ends.0 + self.delay.of(begins.0, ends.0) + self.jitter.as_mut().map_or(0, |jitter| jitter.next());
        let lost = self
            .outages
            .as_mut()
            .filter(|outages| outages.config.in_flight == InFlight::Drop)
            .and_then(|outages| outages.next_begin(ends.0.saturating_sub(1)))
            .filter(|&begin| begin < arrival);
        match lost {
            Some(begin) => Passage::Lost(Time(begin)),
            None => Passage::Arrives(Time(self.order.arrive(now.0, ends.0, arrival))),
        }
    }

    /// Returns the rate [bit/s] of the transmitter at `now`; 0 for a transmitter without a rate.
    pub fn rate_bps(&mut self, now: Time) -> u64 {
        match &mut self.line {
            Transmitter::Steps { steps, .. } | Transmitter::Slots(TimeVaryingSlots { steps, .. }) => {
                steps.rate(now.0).0
            }
            Transmitter::Opportunities(_) => 0,
        }
    }

    /// Returns which packets at the port are dropped when an outage begins; None if none are.
    pub fn drops(&self) -> Option<OutageDrops> {
        let config = &self.outages.as_ref()?.config;
        let drops = OutageDrops {
            waiting: config.waiting == HoldOrDrop::Drop,
            in_service: config.in_service == InService::Drop,
        };
        (drops.waiting || drops.in_service).then_some(drops)
    }

    /// Returns the start of the next outage after `now` that drops packets.
    pub fn next_drop(&mut self, now: Option<Time>) -> Option<Time> {
        self.drops()?;
        let outages = self.outages.as_mut()?;
        let begin = match now {
            Some(now) => outages.next_begin(now.0),
            None => outages.config.intervals_ps.first().map(|outage| outage[0]),
        };
        begin.map(Time)
    }

    /// Returns the counts of overtaking packets up to `now`.
    pub fn overtakings(&mut self, now: Time) -> Overtakings {
        self.order.overtakings(now.0)
    }

    /// Returns the fraction of the transmitter's capacity up to `now`, excluding outages, that the given packets and
    /// bytes used.
    pub fn share_used(&self, (packets, bytes): (u64, u64), now: Time) -> f64 {
        if let Some(rate) = self.rate {
            return rate.share_used(bytes, now);
        }
        let could = self.capacity(now);
        if could == 0 {
            return 0.0;
        }
        (self.taken(packets, bytes) as f64 / could as f64).min(1.0)
    }

    /// Returns whether the transmitter could have sent these packets and bytes by `now`. Departures are rounded to a
    /// picosecond.
    pub fn can_have_sent(&self, (packets, bytes): (u64, u64), now: Time) -> bool {
        self.taken(packets, bytes) <= self.capacity(Time(now.0 + 1))
    }

    fn capacity(&self, now: Time) -> u128 {
        match &self.line {
            Transmitter::Steps { steps, .. } | Transmitter::Slots(TimeVaryingSlots { steps, .. }) => {
                steps.sent_by(now.0)
            }
            Transmitter::Opportunities(opportunities) => u128::from(opportunities.sent_by(now.0)),
        }
    }

    fn taken(&self, packets: u64, bytes: u64) -> u128 {
        match &self.line {
            Transmitter::Steps { .. } | Transmitter::Slots(_) => 8 * u128::from(bytes) * u128::from(PS_PER_SECOND),
            Transmitter::Opportunities(opportunities) => u128::from(bytes + packets * opportunities.header()),
        }
    }
}

/// Returns the rate of a link over time; zero for a link with transmission opportunities.
fn steps(link: &LinkConfig) -> RateSteps {
    let service = link.motion.as_deref().and_then(|motion| motion.service.as_ref());
    match service {
        Some(ServiceConfig::Steps { steps, cycle_ps }) => RateSteps::new(steps.clone(), *cycle_ps),
        Some(ServiceConfig::Opportunities { .. }) | None => RateSteps::new(vec![[0, link.rate_bps]], None),
    }
}

/// Delays a free transmitter until the next multiple of an interval that is not within an outage.
fn align(free: &mut Exact, interval: u64, mut outages: Option<&mut Outages>) {
    while free.whole < AFTER_ANY_RUN.0 {
        let rounded_up = free.whole + u64::from(free.part > 0);
        let begin = (rounded_up.div_ceil(interval) * interval).min(AFTER_ANY_RUN.0);
        *free = Exact { whole: begin, part: 0 };
        match outages.as_mut().and_then(|outages| outages.end(begin)) {
            Some(end) => free.whole = end,
            None => return,
        }
    }
}

/// Advances the transmitter by the overhead of a batch. If the overhead ends during an outage, the transmission starts
/// at the end of the outage.
fn wait(free: &mut Exact, overhead_ps: u64, outages: Option<&mut Outages>) {
    if overhead_ps > 0 {
        let rounded_up = free.whole + u64::from(free.part > 0);
        let whole = (rounded_up + overhead_ps).min(AFTER_ANY_RUN.0.max(rounded_up));
        *free = Exact { whole, part: 0 };
    }
    let holds = outages.filter(|outages| outages.config.in_service == InService::Hold);
    if let Some(end) = holds.and_then(|outages| outages.end(free.whole)) {
        *free = Exact { whole: end, part: 0 };
    }
}

/// Returns the time at which `left` bit/s·ps of work that begins at `from` is done. Work that an outage interrupts
/// continues after the outage.
#[inline]
fn finish(steps: &mut RateSteps, outages: Option<&mut Outages>, mut from: Exact, mut left: u128) -> Exact {
    let never = Exact {
        whole: AFTER_ANY_RUN.0,
        part: 0,
    };
    let Some(outages) = outages.filter(|outages| outages.config.in_service == InService::Hold) else {
        return steps
            .finish(from, left, AFTER_ANY_RUN.0.max(from.whole))
            .unwrap_or(never);
    };
    loop {
        let begin = outages
            .next_begin(from.whole)
            .unwrap_or(AFTER_ANY_RUN.0.max(from.whole));
        match steps.finish(from, left, begin) {
            Ok(end) => return end,
            Err(remaining_bits) => left = remaining_bits,
        }
        match outages.end(begin) {
            Some(end) => from = Exact { whole: end, part: 0 },
            None => return never,
        }
    }
}
