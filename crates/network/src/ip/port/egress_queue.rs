//! The part of an output port that precedes its transmitter: injected loss, limits, queue discipline and counters. The
//! caller owns the transmitter, and requests the next packet when the transmitter is free.

use super::capacity::{counts_bytes, Capacity};
use crate::conditioners::aggregation::Aggregation;
use crate::conditioners::duplication::Duplication;
use crate::conditioners::tbf::Tbf;
use crate::conditioners::{Policers, TokenCredit};
use crate::impairments::loss::Loss;
use crate::ip::port::line::Repeated;
use crate::packets::drops::{DropCause, Drops};
use crate::packets::{Carried, Circuit, Flow, Options, Packet};
use crate::policies::parameters::Divides;
use crate::queues::subqueues::SubqueueCounters;
use crate::queues::{AnyDisc, Endpoints, NewPort, PassThroughEffect, PortState, QueueDisc, Queued};
use crate::report::packets::PacketReport;
use crate::scenario::{FlowConfig, LinkConfig, Scenario};
use longpipe_events::{MaybeTime, Rate, Time};
use std::collections::VecDeque;
use std::num::NonZeroU64;

/// A packet at the port.
#[derive(Clone, Debug)]
pub(crate) struct QueuedPacket {
    /// Arrival time.
    pub arrival: Time,
    pub packet: Packet,
    /// Timestamp option, if the packet has one.
    stamp: MaybeTime,
    /// TCP options, if the packet has any.
    options: Option<Box<Options>>,
    tag: Tag,
}

/// Properties that few disciplines use, in one word, so that packets are copied word by word. The word is never 0, so
/// that an optional packet is not larger than a packet.
#[derive(Clone, Copy, Debug)]
struct Tag(NonZeroU64);

impl Tag {
    /// Tag of class 0, without flags.
    const NONE: Tag = Tag(NonZeroU64::MIN);
    const MARKED: u64 = 1 << 1;
    const SCALABLE: u64 = 1 << 2;
    const CLASS_SHIFT: u32 = 32;

    /// Creates the tag of a packet whose flow has the given class and may be `scalable`.
    fn new(class: u32, scalable: bool) -> Tag {
        let flags = if scalable { Tag::SCALABLE } else { 0 };
        Tag(NonZeroU64::MIN | u64::from(class) << Tag::CLASS_SHIFT | flags)
    }

    /// Returns the class of the packet's flow.
    fn class(self) -> u32 {
        (self.0.get() >> Tag::CLASS_SHIFT) as u32
    }

    /// Returns whether ECN-capable packets of the flow carry ECT(1).
    fn is_scalable(self) -> bool {
        self.0.get() & Tag::SCALABLE != 0
    }

    /// Returns whether the queue discipline marked the packet.
    #[inline]
    fn is_marked(self) -> bool {
        self.0.get() & Tag::MARKED != 0
    }

    fn marked(self) -> Tag {
        Tag(self.0 | Tag::MARKED)
    }
}

impl QueuedPacket {
    /// Creates a packet that arrives at `now`.
    #[inline]
    fn new(now: Time, packet: Packet, options: impl Carried, tag: Tag) -> QueuedPacket {
        let (stamp, options) = match packet.has_options() {
            false => (MaybeTime::NONE, None),
            true if packet.has_stamp_alone() => (options.stamp(), None),
            true => (options.stamp(), Some(options.with(|options| Box::new(*options)))),
        };
        QueuedPacket {
            arrival: now,
            packet,
            stamp,
            options,
            tag,
        }
    }

    /// Creates a packet that arrives at `now` and passes an empty discipline without being queued, so that its options
    /// are not needed.
    #[inline]
    fn without_options(now: Time, packet: Packet, tag: Tag) -> QueuedPacket {
        QueuedPacket {
            arrival: now,
            packet,
            stamp: MaybeTime::NONE,
            options: None,
            tag,
        }
    }

    /// Returns the arrival time and circuit of the packet.
    pub fn entry(&self) -> (Time, Circuit) {
        (self.arrival, self.packet.vc())
    }

    /// Returns the timestamp or its echo, if the packet has one.
    #[inline]
    pub fn stamp(&self) -> MaybeTime {
        self.stamp
    }

    /// Returns the packet's TCP options, which may be empty.
    #[inline]
    pub fn options(&self) -> Options {
        match &self.options {
            Some(options) => **options,
            None => Options::of_stamp(self.stamp),
        }
    }
}

impl Queued for QueuedPacket {
    fn arrival(&self) -> Time {
        self.arrival
    }

    fn bytes(&self) -> u64 {
        u64::from(self.packet.bytes())
    }

    fn flow(&self) -> u32 {
        self.packet.vc().0
    }

    fn hop(&self) -> u32 {
        self.packet.step()
    }

    fn class(&self) -> u32 {
        self.tag.class()
    }

    fn is_low_latency(&self) -> bool {
        self.packet.is_marked() || self.packet.is_scalable() || (self.tag.is_scalable() && self.packet.is_capable())
    }

    fn is_capable(&self) -> bool {
        self.packet.is_capable()
    }

    fn mark(&mut self) -> bool {
        let capable = self.packet.is_capable();
        if capable {
            (self.packet, self.tag) = (self.packet.marked(), self.tag.marked());
        }
        capable
    }

    fn is_marked(&self) -> bool {
        self.tag.is_marked()
    }

    fn supersedes(&self, earlier: &QueuedPacket) -> bool {
        self.packet.replaces(&earlier.packet, &earlier.options())
    }
}

/// Inputs to the discipline that depend on the flow.
#[derive(Clone, Debug)]
enum OfFlows {
    Nothing,
    /// The class of each flow.
    Classes(Vec<u32>),
    /// Whether each flow is scalable.
    Scalable(Vec<bool>),
}

/// A batch: packets that are transmitted together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub packets: VecDeque<QueuedPacket>,
    /// Length [byte] that the transmitter sends for the whole batch.
    pub line_bytes: u64,
}

/// A packet that was dropped from the queue, or on arrival; then `arrival` equals `time`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removed {
    /// Time at which the packet was enqueued.
    pub arrival: Time,
    /// Time at which it was dropped.
    pub time: Time,
    pub circuit: Circuit,
}

impl Removed {
    fn new(packet: &QueuedPacket, time: Time) -> Removed {
        let (arrival, circuit) = packet.entry();
        Removed { arrival, time, circuit }
    }
}

/// Formation of batches.
#[derive(Clone, Debug)]
struct Batches {
    limits: Aggregation,
    /// The packet that was dequeued but did not fit into the last batch. It is the first packet of the next batch, as
    /// with Linux's `qdisc_peek_dequeued`, and counts as waiting.
    carried: Option<QueuedPacket>,
}

/// The queue of a port, with its counters.
#[derive(Clone, Debug)]
pub(crate) struct EgressQueue {
    rate: Rate,
    disc: AnyDisc<QueuedPacket>,
    of_flows: OfFlows,
    loss: Option<Box<Loss>>,
    /// Whether the link has conditioners or a shaping discipline.
    is_conditioned: bool,
    /// Whether an arriving packet is passed to the discipline unconditionally, because the link has neither injected
    /// losses nor conditioners.
    is_unconditional: bool,
    /// Whether `is_unconditional` holds and the discipline does not depend on properties of flows (shortcut).
    is_bare: bool,
    duplication: Option<Box<Duplication>>,
    /// Duplicated packets with datagrams that the engine has not collected yet.
    duplicated: Vec<Packet>,
    policers: Policers,
    shaper: Option<Box<Tbf>>,
    batches: Option<Box<Batches>>,
    capacity: Capacity,
    /// Whether a packet occupies the buffer until its transmission ends, instead of until it starts.
    counts_in_service: bool,
    /// Packets and bytes that wait in the discipline.
    waiting: (u64, u64),
    /// Packets and bytes in transmission.
    in_service: (u64, u64),
    /// Latest time at which a packet left or was dropped in an outage.
    emptied: Time,
    report: PacketReport,
    lost_outage: u64,
    /// Total time [packet·ps] from arrival to departure or drop: the sum of the departure times of all packets that
    /// have left, minus the sum of the arrival times of all admitted packets, modulo 2¹²⁸.
    packet_time: u128,
    /// Packets lost at this port that the engine has not reported yet.
    drops: Drops,
    /// Times and flows of packets marked at this port that the engine has not reported yet.
    marks: Vec<(Time, Flow)>,
    /// Packets dropped by the discipline or by an outage that the engine has not reported yet; each is also in `drops`.
    removed: Vec<Removed>,
}

/// Returns the end points of each circuit; the packets of a flow, in both directions, have the flow's class.
fn endpoints(scenario: &Scenario) -> Vec<Endpoints> {
    let of_flow = |flow: &FlowConfig| {
        let first = flow.route.first().map_or(0, |&link| scenario.links[link].from);
        let last = flow.route.last().map_or(0, |&link| scenario.links[link].to);
        [[first, last], [last, first]].map(|hosts| (hosts, flow.class))
    };
    scenario.flows.iter().flat_map(of_flow).collect()
}

impl EgressQueue {
    /// Creates the empty queue of the port that feeds a link.
    pub fn new(scenario: &Scenario, link: &LinkConfig, seed: u64, index: u64) -> EgressQueue {
        let flows = scenario.flows.iter();
        let host = scenario.is_host(link.from);
        let of_flows = match link.policy.divides() {
            Divides::ByClass => OfFlows::Classes(flows.map(|flow| flow.class).collect()),
            Divides::ByScalability => OfFlows::Scalable(flows.map(|flow| flow.scalable).collect()),
            Divides::Nothing => OfFlows::Nothing,
        };
        let port = NewPort {
            circuits: Circuit::of_flows(scenario.flows.len()),
            endpoints: &|| endpoints(scenario),
            rate_bps: link.rate_bps,
            limit: link.buffer.map_or(u64::MAX, |buffer| buffer.limit),
            by_bytes: counts_bytes(link.buffer),
            seed,
            link: index,
        };
        let loss = Loss::new(&link.loss, seed, index);
        EgressQueue {
            rate: Rate(link.rate_bps),
            disc: link.policy.disc(&port),
            is_unconditional: loss.is_none() && !link.is_conditioned(),
            is_bare: loss.is_none() && !link.is_conditioned() && matches!(of_flows, OfFlows::Nothing),
            of_flows,
            loss,
            is_conditioned: link.is_conditioned(),
            duplication: Duplication::among(&link.conditioners, seed, index),
            duplicated: Vec::new(),
            policers: Policers::among(&link.conditioners, Circuit::of_flows(scenario.flows.len())),
            shaper: Tbf::among(&link.conditioners).map(Box::new),
            batches: Aggregation::among(&link.conditioners).map(|limits| Box::new(Batches { limits, carried: None })),
            capacity: Capacity::new(link.buffer),
            counts_in_service: !link.frees_at_begin() || link.has_shaper(),
            waiting: (0, 0),
            in_service: (0, 0),
            emptied: Time::ZERO,
            report: PacketReport {
                host,
                ..PacketReport::default()
            },
            lost_outage: 0,
            packet_time: 0,
            drops: Drops::default(),
            marks: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Returns the packets lost at this port that the engine has not reported yet.
    #[inline]
    pub fn drops(&mut self) -> &mut Drops {
        &mut self.drops
    }

    /// Removes and returns the times and flows of packets marked at this port.
    #[inline]
    pub fn take_marks(&mut self) -> impl Iterator<Item = (Time, Flow)> + '_ {
        self.marks.drain(..)
    }

    /// Removes and returns the packets that the discipline or an outage dropped.
    #[inline]
    pub fn take_removed(&mut self) -> impl Iterator<Item = Removed> + '_ {
        self.removed.drain(..)
    }

    /// Removes and returns the packets with datagrams that were duplicated.
    #[inline]
    pub fn take_duplicated(&mut self) -> impl Iterator<Item = Packet> + '_ {
        self.duplicated.drain(..)
    }

    /// Returns the arrival times and circuits of the packets that wait.
    pub fn waiting_packets(&self) -> Vec<(Time, Circuit)> {
        let carried = self.batches.as_ref().and_then(|batches| batches.carried.as_ref());
        let mut waiting: Vec<_> = carried.map(QueuedPacket::entry).into_iter().collect();
        self.disc
            .clone()
            .purge(Time::ZERO, |packet| waiting.push(packet.entry()));
        waiting
    }

    /// Returns whether there are lost, marked or duplicated packets that the engine has not reported yet.
    #[inline]
    pub fn has_reports(&self) -> bool {
        !(self.drops.is_empty() && self.marks.is_empty() && self.duplicated.is_empty())
    }

    /// Returns a time before which no call to `begin_next` at or after `now` drops a packet.
    #[inline]
    pub fn drops_none_before(&self, now: Time) -> Time {
        self.disc.drops_none_before(now)
    }

    /// Returns the nominal rate of the link.
    #[inline]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns whether the port belongs to a host.
    pub fn is_host(&self) -> bool {
        self.report.host
    }

    /// Returns whether the link has conditioners or a shaping discipline.
    pub fn is_conditioned(&self) -> bool {
        self.is_conditioned
    }

    /// Returns the numbers of waiting packets and bytes.
    #[inline]
    pub fn backlog(&self) -> (u64, u64) {
        let (packets, bytes) = self.waiting;
        let carried = self.carried();
        (packets + carried.0, bytes + carried.1)
    }

    /// Returns whether no packet waits in the discipline.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.0 == 0
    }

    /// Returns the numbers of packets and bytes that were dequeued and wait for the next batch.
    #[inline]
    fn carried(&self) -> (u64, u64) {
        let carried = self.batches.as_ref().and_then(|batches| batches.carried.as_ref());
        carried.map_or((0, 0), |carried| (1, carried.bytes()))
    }

    /// Returns the numbers of packets and bytes held, including those in transmission.
    #[inline]
    pub fn held(&self) -> (u64, u64) {
        let (packets, bytes) = self.backlog();
        (packets + self.in_service.0, bytes + self.in_service.1)
    }

    /// Returns the effect, on later packets, of packets that find the port empty and idle.
    pub fn pass_through_effect(&self) -> PassThroughEffect {
        match self.is_bare {
            true => self.disc.pass_through_effect(),
            false => PassThroughEffect::EveryPacket,
        }
    }

    /// Informs the discipline of the packet that passed the empty port at `now`; it is the latest of the packets
    /// counted by `count_passed`.
    pub fn pass_latest(&mut self, now: Time, packet: Packet) {
        let tag = self.tag(&packet);
        let passes = self.disc.pass_through(&QueuedPacket::without_options(now, packet, tag));
        debug_assert!(passes, "the discipline was empty");
    }

    /// Returns whether a packet or batch is in transmission.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.in_service.0 > 0
    }

    /// Drops an arriving packet because of an outage.
    pub fn refuse(&mut self, now: Time, packet: &Packet) {
        self.count_in(packet);
        self.count_outage(now, packet);
    }

    /// Enqueues an arriving packet. If the transmitter is idle and could start to send a packet at once, returns the
    /// packet to transmit.
    #[inline]
    pub fn arrive(&mut self, now: Time, packet: Packet, options: impl Carried) -> Option<QueuedPacket> {
        self.count_in(&packet);
        // Shortcut for packets that find another packet in transmission, as most packets do.
        if self.is_bare && self.is_busy() {
            self.enqueue(now, QueuedPacket::new(now, packet, options, Tag::NONE));
            return None;
        }
        options.with(|options| self.arrive_in_full(now, packet, options))
    }

    #[inline(never)]
    fn arrive_in_full(&mut self, now: Time, packet: Packet, options: &Options) -> Option<QueuedPacket> {
        let queued = self.take(now, packet, options)?;
        let bytes = queued.bytes();
        let empty = !self.is_busy() && self.backlog().0 == 0;
        if self.has_room_for(bytes) && empty && self.disc.pass_through(&queued) {
            self.begin_alone(now, bytes);
            return Some(queued);
        }
        self.enqueue(now, queued);
        if self.is_busy() {
            return None;
        }
        self.begin_next(now)
    }

    /// Shortcut for a packet that finds no other packet waiting and finds that the transmitter has been idle since
    /// `free`, which is at most `now`. Returns whether `arrive` would return the packet unchanged; if so, the resulting
    /// state equals the state after `depart` at `free` and `arrive` at `now`.
    #[inline]
    pub fn pass_idle(&mut self, free: Time, now: Time, packet: Packet) -> bool {
        let bytes = u64::from(packet.bytes());
        if !(self.is_unconditional && self.has_room_for(bytes)) {
            return false;
        }
        self.find_empty(free);
        let tag = self.tag(&packet);
        if !self.disc.pass_through(&QueuedPacket::without_options(now, packet, tag)) {
            return false;
        }
        self.count_in(&packet);
        self.begin_alone(now, bytes);
        true
    }

    /// Counts the packet in transmission, if any, as sent at `now`, and informs the discipline that no packet waits.
    #[inline]
    pub fn find_empty(&mut self, now: Time) {
        if self.finish(now).is_some() {
            self.disc.find_empty(now);
        }
    }

    /// Returns whether the empty buffer has room for a packet of `bytes` bytes.
    #[inline]
    fn has_room_for(&self, bytes: u64) -> bool {
        self.capacity.has_room((0, 0), bytes)
    }

    /// Records that the transmission of a packet starts at `now`, when it arrives at the empty port.
    #[inline]
    fn begin_alone(&mut self, now: Time, bytes: u64) {
        self.count_entry(now);
        self.report.peak_packets = self.report.peak_packets.max(1);
        self.report.peak_bytes = self.report.peak_bytes.max(bytes);
        self.in_service = (1, bytes);
    }

    /// Enqueues an arriving packet; if it is duplicated, its duplicate is enqueued first.
    pub fn admit(&mut self, now: Time, packet: Packet, options: &Options) {
        self.count_in(&packet);
        if self.is_bare && self.disc.tail_drop().is_some() {
            return self.admit_to_fifo(now, packet, options);
        }
        if self
            .duplication
            .as_mut()
            .is_some_and(|duplication| duplication.duplicates())
        {
            self.report.packets_duplicated += 1;
            self.report.bytes_duplicated += u64::from(packet.bytes());
            if packet.is_datagram() {
                self.duplicated.push(packet);
            }
            self.admit_once(now, packet, options);
        }
        self.admit_once(now, packet, options);
    }

    /// Shortcut of `admit_once` for a FIFO with tail drop, if the link has neither injected losses nor conditioners.
    #[inline]
    fn admit_to_fifo(&mut self, now: Time, packet: Packet, options: &Options) {
        let bytes = u64::from(packet.bytes());
        let (packets, bytes_waiting) = self.waiting;
        let (packets_in_service, bytes_in_service) = self.in_service;
        let held = (packets + packets_in_service, bytes_waiting + bytes_in_service);
        let counted = if self.counts_in_service { held } else { self.waiting };
        match self.disc.tail_drop() {
            Some(fifo) if self.capacity.has_room(counted, bytes) => {
                fifo.push(QueuedPacket::new(now, packet, options, Tag::NONE));
                self.count_entry(now);
                self.waiting = (packets + 1, bytes_waiting + bytes);
                self.report.peak_packets = self.report.peak_packets.max(held.0 + 1);
                self.report.peak_bytes = self.report.peak_bytes.max(held.1 + bytes);
            }
            _ => self.overflow(now, &packet),
        }
    }

    /// Drops an arriving packet because the buffer is full.
    #[inline(never)]
    fn overflow(&mut self, now: Time, packet: &Packet) {
        self.lose(now, packet, DropCause::Overflow);
        self.removed.push(Removed {
            arrival: now,
            time: now,
            circuit: packet.vc(),
        });
    }

    fn admit_once(&mut self, now: Time, packet: Packet, options: &Options) {
        if let Some(queued) = self.take(now, packet, options) {
            self.enqueue(now, queued);
        }
    }

    #[inline]
    fn count_in(&mut self, packet: &Packet) {
        self.report.packets_in += 1;
        self.report.bytes_in += u64::from(packet.bytes());
    }

    /// Returns an arriving packet for the discipline, unless the link's loss model, a conditioner or the shaper drops
    /// it.
    #[inline]
    fn take(&mut self, now: Time, packet: Packet, options: &Options) -> Option<QueuedPacket> {
        if self.is_bare {
            return Some(QueuedPacket::new(now, packet, options, Tag::NONE));
        }
        self.take_conditioned(now, packet, options)
    }

    #[inline(never)]
    fn take_conditioned(&mut self, now: Time, packet: Packet, options: &Options) -> Option<QueuedPacket> {
        let bytes = u64::from(packet.bytes());
        if self.loss.as_mut().is_some_and(|loss| loss.loses(now)) {
            return self.lose(now, &packet, DropCause::InjectedLoss);
        }
        let packet = match self.policers.arrive(now, packet) {
            Ok(passed) => {
                if passed.is_marked() && !packet.is_marked() {
                    self.count_mark(now, packet.vc().flow());
                }
                passed
            }
            Err(cause) => return self.lose(now, &packet, cause),
        };
        if self.shaper.as_ref().is_some_and(|shaper| shaper.is_too_long(bytes)) {
            return self.lose(now, &packet, DropCause::Overflow);
        }
        let tag = self.tag(&packet);
        Some(QueuedPacket::new(now, packet, options, tag))
    }

    /// Returns the properties of a packet that the discipline reads.
    #[inline]
    fn tag(&self, packet: &Packet) -> Tag {
        let flow = || packet.vc().flow().index();
        match &self.of_flows {
            OfFlows::Nothing => Tag::NONE,
            OfFlows::Classes(classes) => Tag::new(classes[flow()], false),
            OfFlows::Scalable(scalable) => Tag::new(0, scalable[flow()]),
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, now: Time, packet: QueuedPacket) {
        let occupied = if self.counts_in_service {
            self.in_service
        } else {
            self.carried()
        };
        let empty = !self.is_busy() && self.backlog().0 == 0;
        let (room_packets, room_bytes) = self.capacity.room(occupied);
        let port = PortState {
            now,
            room_packets,
            room_bytes,
            in_service: self.is_busy(),
            idle_since: empty.then_some(self.emptied),
        };
        let flow = packet.packet.vc().flow();
        self.count_entry(now);
        self.waiting.0 += 1;
        self.waiting.1 += packet.bytes();
        let (report, drops, packet_time) = (&mut self.report, &mut self.drops, &mut self.packet_time);
        let (waiting, removed) = (&mut self.waiting, &mut self.removed);
        let marked = self.disc.enqueue(&port, packet, |dropped, cause| {
            count_out(waiting, &dropped);
            report.lose(dropped.bytes(), cause);
            count_exits(packet_time, 1, now);
            drops.note(now, &dropped.packet, cause);
            removed.push(Removed::new(&dropped, now));
        });
        debug_assert_eq!(self.waiting, self.disc.backlog());
        if marked {
            self.count_mark(now, flow);
        }
        let (packets, bytes) = self.held();
        self.report.peak_packets = self.report.peak_packets.max(packets);
        self.report.peak_bytes = self.report.peak_bytes.max(bytes);
    }

    /// Counts the packet in transmission as sent. Returns the packet to transmit next.
    #[inline(always)]
    pub fn depart(&mut self, now: Time) -> Option<QueuedPacket> {
        self.finish(now)?;
        self.begin_next(now)
    }

    /// Counts the packet or batch in transmission as sent. Returns `None` if there was none.
    #[inline]
    pub fn finish(&mut self, now: Time) -> Option<()> {
        if !self.is_busy() {
            return None;
        }
        count_exits(&mut self.packet_time, self.in_service.0, now);
        self.report.packets_out += self.in_service.0;
        self.report.bytes_out += self.in_service.1;
        self.in_service = (0, 0);
        self.emptied = now;
        Some(())
    }

    /// Dequeues the packet to transmit, for a free transmitter.
    #[inline(always)]
    pub fn begin_next(&mut self, now: Time) -> Option<QueuedPacket> {
        let next = self.dequeue(now)?;
        self.in_service = (1, next.bytes());
        Some(next)
    }

    /// Dequeues a packet to transmit in addition to those in transmission, if there are any.
    #[inline]
    pub fn begin_another(&mut self, now: Time) -> Option<QueuedPacket> {
        let next = match self.disc.tail_drop() {
            Some(fifo) => {
                let next = fifo.pop()?;
                count_out(&mut self.waiting, &next);
                next
            }
            None => self.dequeue(now)?,
        };
        self.in_service.0 += 1;
        self.in_service.1 += next.bytes();
        Some(next)
    }

    /// Counts a packet in transmission as sent. If it was the last one, and none waits, informs the discipline.
    pub fn finish_one(&mut self, now: Time, packet: &QueuedPacket) {
        count_exits(&mut self.packet_time, 1, now);
        self.report.packets_out += 1;
        self.report.bytes_out += packet.bytes();
        self.in_service.0 -= 1;
        self.in_service.1 -= packet.bytes();
        self.settle_service(now);
    }

    /// Counts a packet in transmission as lost.
    pub fn discard_one(&mut self, now: Time, packet: &QueuedPacket) {
        count_exits(&mut self.packet_time, 1, now);
        self.in_service.0 -= 1;
        self.in_service.1 -= packet.bytes();
        self.lose(now, &packet.packet, DropCause::Access);
        self.removed.push(Removed::new(packet, now));
        self.settle_service(now);
    }

    /// If no packet is in transmission, and none waits, informs the discipline.
    fn settle_service(&mut self, now: Time) {
        if self.in_service.0 == 0 {
            self.emptied = now;
            if self.backlog().0 == 0 {
                self.disc.find_empty(now);
            }
        }
    }

    /// Returns whether packets are transmitted in batches.
    pub fn forms_batches(&self) -> bool {
        self.batches.is_some()
    }

    /// Dequeues the batch to transmit, for a free transmitter with the given rate. The batch is empty if no packet
    /// waits.
    pub fn begin_batch(&mut self, now: Time, rate_bps: u64) -> Batch {
        let mut batch = Batch::default();
        let Some(mut batches) = self.batches.take() else {
            return batch;
        };
        let (limits, max_bytes) = (batches.limits, batches.limits.max_bytes(rate_bps));
        while batch.packets.len() < limits.max_packets() {
            let Some(next) = batches.carried.take().or_else(|| self.dequeue(now)) else {
                break;
            };
            let line_bytes = limits.line_bytes(next.bytes());
            if !batch.packets.is_empty() && batch.line_bytes + line_bytes > max_bytes {
                batches.carried = Some(next);
                break;
            }
            self.in_service.0 += 1;
            self.in_service.1 += next.bytes();
            batch.line_bytes += line_bytes;
            batch.packets.push_back(next);
        }
        self.batches = Some(batches);
        batch
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time) -> Option<QueuedPacket> {
        let (report, drops, packet_time) = (&mut self.report, &mut self.drops, &mut self.packet_time);
        let (waiting, removed) = (&mut self.waiting, &mut self.removed);
        let next = self.disc.dequeue(now, |dropped, cause| {
            count_out(waiting, &dropped);
            report.lose(dropped.bytes(), cause);
            count_exits(packet_time, 1, now);
            drops.note(now, &dropped.packet, cause);
            removed.push(Removed::new(&dropped, now));
        });
        let next = next?;
        count_out(&mut self.waiting, &next);
        debug_assert_eq!(self.waiting, self.disc.backlog());
        if next.tag.is_marked() && !self.disc.marks_on_arrival() {
            self.count_mark(now, next.packet.vc().flow());
        }
        Some(next)
    }

    /// Returns the time at which the discipline, which released no packet at `now`, will release one; `None` if no
    /// packet waits.
    pub fn held_until(&self, now: Time) -> Option<Time> {
        (self.backlog().0 > 0).then(|| self.disc.release(now))
    }

    /// Returns the time at which the shaper, if any, releases a packet that the transmitter could start to send at
    /// `now`.
    pub fn release(&mut self, now: Time, packet: &QueuedPacket) -> Time {
        self.shaper
            .as_mut()
            .map_or(now, |shaper| shaper.release(now, packet.packet.bytes()))
    }

    fn count_mark(&mut self, now: Time, flow: Flow) {
        self.report.packets_marked += 1;
        self.marks.push((now, flow));
    }

    /// Drops the packets in transmission because of an outage.
    pub fn drop_in_service<'a>(&mut self, now: Time, packets: impl IntoIterator<Item = &'a QueuedPacket>) {
        count_exits(&mut self.packet_time, self.in_service.0, now);
        self.in_service = (0, 0);
        self.emptied = now;
        packets.into_iter().for_each(|queued| self.remove(now, queued));
    }

    /// Drops all waiting packets because of an outage.
    pub fn purge(&mut self, now: Time) {
        let mut dropped = vec![];
        let carried = self.batches.as_mut().and_then(|batches| batches.carried.take());
        dropped.extend(carried);
        self.disc.purge(now, |packet| dropped.push(packet));
        self.waiting = (0, 0);
        count_exits(&mut self.packet_time, dropped.len() as u64, now);
        if !dropped.is_empty() {
            self.emptied = now;
        }
        dropped.iter().for_each(|queued| self.remove(now, queued));
    }

    /// Drops a packet of this port because of an outage.
    fn remove(&mut self, now: Time, queued: &QueuedPacket) {
        self.count_outage(now, &queued.packet);
        self.removed.push(Removed::new(queued, now));
    }

    /// Counts a packet that is lost before it reaches the discipline. Returns None.
    fn lose(&mut self, now: Time, packet: &Packet, cause: DropCause) -> Option<QueuedPacket> {
        self.report.lose(u64::from(packet.bytes()), cause);
        self.drops.note(now, packet, cause);
        None
    }

    fn count_outage(&mut self, now: Time, packet: &Packet) {
        self.lost_outage += 1;
        self.report.bytes_lost += u64::from(packet.bytes());
        self.drops.note(now, packet, DropCause::Outage);
    }

    /// Counts packets, each of which arrived at an empty, idle port. The last packet arrived at `now` and is still in
    /// transmission.
    pub fn count_passed(&mut self, repeated: Repeated, now: Time) {
        let Repeated {
            packets,
            bytes,
            duration,
        } = repeated;
        let before = packets - 1;
        self.report.packets_in += packets;
        self.report.bytes_in += packets * bytes;
        self.report.packets_out += before;
        self.report.bytes_out += before * bytes;
        self.packet_time = self.packet_time.wrapping_add(u128::from(before) * u128::from(duration));
        self.count_entry(now);
        self.in_service = (1, bytes);
    }

    #[inline]
    fn count_entry(&mut self, now: Time) {
        self.packet_time = self.packet_time.wrapping_sub(u128::from(now.0));
    }

    /// Returns the counters of the queues into which the discipline divides the port.
    pub fn subqueues(&self) -> Vec<&SubqueueCounters> {
        self.disc.subqueues()
    }

    /// Returns the number of packets lost in outages at the port.
    pub fn lost_outage(&self) -> u64 {
        self.lost_outage
    }

    /// Returns the counters at `now`, the end of the run.
    pub fn report(&self, now: Time) -> PacketReport {
        let (packets_held, bytes_held) = self.held();
        let packet_time = self
            .packet_time
            .wrapping_add(u128::from(packets_held) * u128::from(now.0));
        PacketReport {
            packets_held,
            bytes_held,
            mean_packets: Some(packet_time as f64 / now.0 as f64),
            utilization: self.rate().share_used(self.report.bytes_out, now),
            shaper_bytes: self.disc.charged_bytes(),
            ..self.report
        }
    }

    /// Like `report`, for a port that forwards a packet when its transmission starts: a host's packets count as held
    /// until they arrive. `waiting` and `on_wire` are the numbers of packets and bytes whose transmission has not
    /// started, and that have not arrived.
    pub fn report_at_host(&self, now: Time, waiting: (u64, u64), on_wire: (u64, u64)) -> PacketReport {
        let mut report = self.report(now);
        if report.host {
            let held = (waiting.0 + on_wire.0, waiting.1 + on_wire.1);
            report.hold_on_wire((held.0 - report.packets_held, held.1 - report.bytes_held));
            report.utilization = self.rate().share_used(report.bytes_out, now);
        }
        report
    }

    /// Returns the credits of the token buckets at `now`, the end of the run: of the policers in order, then of the
    /// shaper.
    pub fn token_credits(&self, now: Time) -> Vec<TokenCredit> {
        let of_shaper = |shaper: &Tbf| TokenCredit::of_shaper(shaper, now, self.in_service.1);
        self.policers
            .credits(now, self.held().1)
            .chain(self.shaper.as_deref().map(of_shaper))
            .collect()
    }
}

/// Adds the departure times of packets to the accumulated time in the port.
#[inline]
fn count_exits(packet_time: &mut u128, packets: u64, now: Time) {
    *packet_time = packet_time.wrapping_add(u128::from(packets) * u128::from(now.0));
}

/// Subtracts a packet that leaves the discipline from the packets and bytes that wait there.
#[inline]
fn count_out(waiting: &mut (u64, u64), packet: &QueuedPacket) {
    waiting.0 -= 1;
    waiting.1 -= packet.bytes();
}
