//! One TCP connection in the network: its end points and the frames between them.

use super::datagrams::source::Source;
use super::datagrams::Datagrams;
use super::external::ExternalPackets;
use super::proxy::forwarding::{join, Proxy};
use super::requests::Requests;
use crate::packets::in_transit::{InTransit, REQUEST};
use crate::packets::{Circuit, Flow};
use crate::report::state_hash::StateHash;
use crate::report::FlowReport;
use crate::scenario::topology::Entry;
use crate::scenario::{LinkConfig, Scenario, StartConfig, TrafficConfig};
use longpipe_events::{MaybeTime, Span, Stream, Time};
use longpipe_tcp::config::{PhaseConfig, TcpConfig, TimerConfig};
use longpipe_tcp::{sender::GREEDY, AckSegment, DataSegment, Receiver, Sender};

/// Aligns the following fields to a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct CacheLine;

/// A connection: the sending host's half, then the receiving host's, each with the most frequently used fields first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Connection {
    /// Time of the scheduled timer event of the sending host.
    pub sender_armed: MaybeTime,
    /// Start of the data circuit.
    pub way: Entry,
    /// Sending end point.
    pub sender: Sender,
    /// Requests of the receiving host, for web traffic.
    pub requests: Option<Box<Requests>>,
    /// Data in transit.
    pub data: InTransit<DataSegment>,
    /// Total data of the application [byte]; `GREEDY` if it answers requests.
    pub size: u64,
    /// Start time of the application.
    pub start: Time,
    receiving: CacheLine,
    /// Time of the scheduled timer event of the receiving host.
    pub receiver_armed: MaybeTime,
    /// Start of the return circuit.
    pub way_back: Entry,
    /// Number of delivered bytes at which `on_awaited` is invoked.
    pub awaited: u64,
    /// Receiving end point.
    pub receiver: Receiver,
    /// ACKs in transit.
    pub acks: InTransit<AckSegment>,
    /// Time at which the last byte was delivered.
    pub completion: Option<Time>,
    /// Datagrams that the flow sends instead of TCP segments.
    pub datagrams: Option<Box<Datagrams>>,
    /// Packets of real programs, for an external flow.
    pub(crate) external: Option<Box<ExternalPackets>>,
    /// State of a connection at a split-TCP proxy.
    pub(crate) proxy: Option<Box<Proxy>>,
}

impl Connection {
    /// Returns the start of `vc`, one of the flow's circuits.
    #[inline(always)]
    pub fn entry(&self, vc: Circuit) -> Entry {
        if !vc.is_back() {
            self.way
        } else {
            self.way_back
        }
    }

    /// Adds the final state and its report to the hash.
    pub(crate) fn hash(&self, report: &FlowReport, hash: &mut StateHash) {
        let (space, counters) = (self.sender.flight(), &report.sender);
        hash.words([
            report.delivered_bytes,
            report.highest_sequence_bytes,
            space.una,
            space.nxt,
            space.max,
            space.cwnd().to_bits(),
            space.ssthresh().to_bits(),
            u64::from(space.duplicates),
            counters.sent_segments,
            counters.sent_bytes,
            counters.retransmitted_segments,
            counters.retransmitted_bytes,
            counters.timeouts,
            counters.fast_retransmits,
            counters.duplicate_acks,
            report.start.0,
        ]);
        hash.instant(report.completion);
        hash.instant(self.sender.next_timeout().get());
        hash.instant(self.receiver.next_timeout().get());
    }

    /// Invoked when `awaited` bytes have been delivered.
    #[cold]
    pub fn on_awaited(&mut self, now: Time) {
        let delivered = self.receiver.delivered();
        match &mut self.requests {
            Some(requests) => requests.on_delivered(now, delivered),
            None if self.proxy.as_ref().is_some_and(|proxy| proxy.forwards()) => {
                // A proxy forwards all data.
                self.completion = self.completion.or((delivered >= self.size).then_some(now));
            }
            None => (self.completion, self.awaited) = (Some(now), u64::MAX),
        }
    }

    /// Returns the length of the packet of a frame on one of the flow's circuits [byte].
    #[inline]
    pub fn packet_bytes(&self, vc: Circuit, frame: u32) -> u32 {
        match &self.requests {
            Some(requests) if frame & REQUEST != 0 => {
                if !vc.is_back() {
                    requests.acks.get(frame & !REQUEST).packet_bytes()
                } else {
                    requests.segments.get(frame & !REQUEST).packet_bytes()
                }
            }
            _ if self.external.is_some() || self.datagrams.is_some() => self.bytes_without_tcp(vc, frame),
            _ if !vc.is_back() => self.data.get(frame).packet_bytes(),
            _ => self.acks.get(frame).packet_bytes(),
        }
    }

    #[cold]
    fn bytes_without_tcp(&self, vc: Circuit, frame: u32) -> u32 {
        if let Some(datagrams) = &self.datagrams {
            return datagrams.get(frame).packet_bytes();
        }
        let packet = self.external.as_ref().map(|external| external.get(vc, frame));
        packet.map_or(0, |packet| u32::from(packet.bytes))
    }

    /// Returns the next timeout at the sending host.
    #[inline]
    pub fn sending_host_timeout(&self) -> MaybeTime {
        let of_requests = self.requests.as_ref().map(|requests| requests.receiver.next_timeout());
        self.sender.next_timeout().min(of_requests.unwrap_or(MaybeTime::NONE))
    }

    /// Returns the next timeout at the receiving host.
    #[inline]
    pub fn receiving_host_timeout(&self) -> MaybeTime {
        let of_requests = self.requests.as_ref().map(|requests| requests.sender.next_timeout());
        self.receiver.next_timeout().min(of_requests.unwrap_or(MaybeTime::NONE))
    }
}

/// Creates all connections of a scenario, whose circuits start at `entries`.
pub(crate) fn connections(scenario: &Scenario, seed: u64, entries: &[Entry]) -> Vec<Connection> {
    let may_repeat = scenario.links.iter().any(LinkConfig::duplicates);
    let flows = scenario.flows.iter().enumerate().map(|(index, flow)| {
        let entity = index as u64;
        let start = match flow.start {
            StartConfig::Fixed { at_ps } => at_ps,
            StartConfig::Random { from_ps, over_ps } => from_ps + Stream::new(seed, "start", entity).below(over_ps),
        };
        let phase = clock_phase(&flow.tcp, seed, entity);
        let (size, mut requests) = match &flow.traffic {
            _ if flow.foreign => (0, None),
            TrafficConfig::Greedy {} => (GREEDY, None),
            TrafficConfig::Transfer { size_bytes } => (*size_bytes, None),
            TrafficConfig::Web(web) => (
                GREEDY,
                Some(Box::new(Requests::new(web, &flow.tcp, phase, seed, entity))),
            ),
            TrafficConfig::Cbr(_)
            | TrafficConfig::OnOff(_)
            | TrafficConfig::Poisson(_)
            | TrafficConfig::Video(_)
            | TrafficConfig::Arrivals(_)
            | TrafficConfig::Stack(_) => (0, None),
        };
        let (mut sender, mut receiver) = (Sender::new(&flow.tcp, phase), Receiver::new(&flow.tcp));
        sender.draw_from(Stream::new(seed, "control", entity));
        if requests.is_some() {
            sender.open_passively();
        }
        if !scenario.takes_shortcuts() {
            sender.disable_shortcuts();
            receiver.disable_shortcuts();
            requests.iter_mut().for_each(|requests| requests.disable_shortcuts());
        }
        Connection {
            sender,
            receiver,
            receiving: CacheLine,
            way: entries[Circuit::of_data(Flow::new(index)).index()],
            way_back: entries[Circuit::of_acks(Flow::new(index)).index()],
            data: InTransit::default(),
            acks: InTransit::default(),
            size,
            start: Time(start),
            completion: None,
            awaited: if requests.is_some() { 0 } else { size },
            sender_armed: MaybeTime::NONE,
            receiver_armed: MaybeTime::NONE,
            requests,
            datagrams: Source::new(&flow.traffic, Stream::new(seed, "datagrams", entity))
                .filter(|_| !flow.foreign)
                .map(|source| Datagrams::new(source, may_repeat)),
            external: flow.foreign.then(Box::default),
            proxy: None,
        }
    });
    let mut flows: Vec<Connection> = flows.collect();
    join(scenario, &mut flows);
    flows
}

fn clock_phase(tcp: &TcpConfig, seed: u64, flow: u64) -> Span {
    let TimerConfig::Coarse { tick_ps, ref phase, .. } = tcp.timer else {
        return Span(0);
    };
    Span(match *phase {
        PhaseConfig::Fixed { at_ps } => at_ps,
        PhaseConfig::Common {} => Stream::new(seed, "clock-phase", 0).below(tick_ps),
        PhaseConfig::PerFlow {} => Stream::new(seed, "clock-phase", flow + 1).below(tick_ps),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn end_points_begin_so_far_into_a_line_of_cache() {
        assert_eq!(offset_of!(Connection, sender), 16);
        assert_eq!(offset_of!(Connection, receiver) % 64, 24);
    }
}
