//! One TCP connection in the network: its end points and the frames between them.

use super::application::Application;
use super::media;
use super::proxy::forwarding::Proxy;
use crate::packets::in_transit::{InTransit, REQUEST};
use crate::packets::Circuit;
use crate::report::state_hash::StateHash;
use crate::report::FlowReport;
use crate::scenario::topology::Entry;
use longpipe_events::{MaybeTime, Span, Time};
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::journal::attribution::Totals;
use longpipe_tcp::{AckSegment, DataSegment, Receiver, Sender};
use std::mem::swap;

/// Aligns the following fields to a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct CacheLine;

/// A connection. The sending host's fields come first, followed by the receiving host's; in each half, the most
/// frequently used fields come first.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Connection {
    /// Time of the scheduled timer event of the sending host.
    pub sender_armed: MaybeTime,
    /// Start of the data circuit.
    pub way: Entry,
    /// Sending end point.
    pub sender: Sender,
    /// Application at both ends.
    pub(crate) application: Application,
    /// Data in transit.
    pub data: InTransit<DataSegment>,
    /// Total amount [byte] of data of the application; `GREEDY` while it is unlimited.
    pub size: u64,
    /// Start time of the application.
    pub start: Time,
    /// Time at which the application stops writing.
    pub stop: MaybeTime,
    /// Sequence number, in packets on the network, of the connection's first byte: 0 unless the connection reuses the
    /// slot of an earlier one (`hosts/arriving`).
    pub base: u64,
    pub(super) receiving: CacheLine,
    /// Time of the scheduled timer event of the receiving host.
    pub receiver_armed: MaybeTime,
    /// Start of the reverse circuit.
    pub way_back: Entry,
    /// Number of delivered bytes at which `on_awaited` is invoked.
    pub awaited: u64,
    /// Receiving end point.
    pub receiver: Receiver,
    /// ACKs in transit.
    pub acks: InTransit<AckSegment>,
    /// Time at which the last byte was delivered.
    pub completion: Option<Time>,
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

    /// Exchanges the sending host's state, including the application, with another copy of the connection.
    pub(crate) fn swap_sender(&mut self, other: &mut Connection) {
        swap(&mut self.sender_armed, &mut other.sender_armed);
        swap(&mut self.sender, &mut other.sender);
        swap(&mut self.application, &mut other.application);
        swap(&mut self.size, &mut other.size);
        swap(&mut self.proxy, &mut other.proxy);
    }

    /// Exchanges the receiving host's state with another copy of the connection.
    pub(crate) fn swap_receiver(&mut self, other: &mut Connection) {
        swap(&mut self.receiver_armed, &mut other.receiver_armed);
        swap(&mut self.receiver, &mut other.receiver);
        swap(&mut self.awaited, &mut other.awaited);
        swap(&mut self.completion, &mut other.completion);
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

    /// Informs the receiver which ACK the next segment echoes; the segment was sent at `sent` and begins at byte
    /// `sequence`.
    #[inline(always)]
    pub fn set_echoed(&mut self, sent: MaybeTime, sequence: u64) {
        if let Some(echoed) = self.sender.echoed(sent, sequence) {
            self.receiver.set_echoed(echoed);
        }
    }

    /// Invoked when `awaited` bytes have been delivered.
    #[cold]
    pub fn on_awaited(&mut self, now: Time) {
        let delivered = self.receiver.delivered();
        if media::on_delivered(self, now, delivered) {
            return;
        }
        match self.application.try_as_requests_mut() {
            Some(requests) => requests.on_delivered(now, delivered),
            None if self.proxy.as_ref().is_some_and(|proxy| proxy.forwards()) => {
                // A proxy forwards all data.
                self.completion = self.completion.or((delivered >= self.size).then_some(now));
            }
            None => (self.completion, self.awaited) = (Some(now), u64::MAX),
        }
    }

    /// Starts a new connection for `size` bytes in the slot of one that has ended.
    pub(super) fn renew(&mut self, ends: Ends, now: Time, size: u64) {
        // Skips one sequence number, as a FIN does, so that no ACK of the earlier connection acknowledges data of this
        // one.
        let used = self.sender.flight().max;
        self.base += if used > 0 { used + 1 } else { 0 };
        (self.sender, self.receiver) = (ends.sender, ends.receiver);
        (self.start, self.size, self.awaited, self.completion) = (now, size, size, None);
        (self.sender_armed, self.receiver_armed) = (MaybeTime::NONE, MaybeTime::NONE);
        if let Some(proxy) = &mut self.proxy {
            proxy.renew(now);
            self.use_slow_paths();
        }
    }

    /// Passes every segment and ACK of a split connection to the proxy.
    pub(super) fn use_slow_paths(&mut self) {
        self.sender.disable_fast_path();
        if self.proxy.as_ref().is_some_and(|proxy| proxy.forwards()) {
            self.awaited = 0;
            self.receiver.disable_fast_path();
        }
    }

    /// Returns the effects of the sender's window reductions until the flow was complete, or until `now` if it is not,
    /// by cause.
    pub fn reductions(&self, now: Time) -> Totals {
        self.sender.reductions(self.completion.unwrap_or(now))
    }

    /// Returns the length [byte] of the packet in a frame on one of the flow's circuits.
    #[inline]
    pub fn packet_bytes(&self, vc: Circuit, frame: u32) -> u32 {
        match self.application.try_as_requests_ref() {
            Some(requests) if frame & REQUEST != 0 => {
                if !vc.is_back() {
                    requests.acks.get(frame & !REQUEST).packet_bytes()
                } else {
                    requests.segments.get(frame & !REQUEST).packet_bytes()
                }
            }
            _ if self.application.is_without_tcp() => self.bytes_without_tcp(vc, frame),
            _ if !vc.is_back() => self.data.get(frame).packet_bytes(),
            _ => self.acks.get(frame).packet_bytes(),
        }
    }

    #[cold]
    fn bytes_without_tcp(&self, vc: Circuit, frame: u32) -> u32 {
        if let Some(datagrams) = self.application.try_as_datagrams_ref() {
            return datagrams.get(frame).packet_bytes();
        }
        let packet = self
            .application
            .try_as_external_ref()
            .map(|external| external.get(vc, frame));
        packet.map_or(0, |packet| u32::from(packet.bytes))
    }

    /// Returns the next timeout at the sending host, or the time of its next zero-window probe.
    #[inline]
    pub fn sending_host_timeout(&self) -> MaybeTime {
        let of_requests = self
            .application
            .try_as_requests_ref()
            .map(|requests| requests.receiver.next_timeout());
        let probe = self.proxy.as_ref().map_or(MaybeTime::NONE, |proxy| proxy.probe_due());
        let of_requests = of_requests.unwrap_or(MaybeTime::NONE);
        self.sender.next_timeout().min(of_requests).min(probe)
    }

    /// Returns the next timeout at the receiving host, or the time of a player's next request.
    #[inline]
    pub fn receiving_host_timeout(&self) -> MaybeTime {
        let of_requests = self
            .application
            .try_as_requests_ref()
            .map(|requests| requests.sender.next_timeout().min(requests.next_request()));
        self.receiver.next_timeout().min(of_requests.unwrap_or(MaybeTime::NONE))
    }
}

/// Both end points of a new connection.
pub(super) struct Ends {
    pub sender: Sender,
    pub receiver: Receiver,
}

impl Ends {
    /// Creates end points whose coarse clock first ticks at `phase`. Without shortcuts, as in the reference engine, all
    /// their segments take the slow path.
    pub fn new(tcp: &TcpConfig, phase: Span, takes_shortcuts: bool) -> Ends {
        let (mut sender, mut receiver) = (Sender::new(tcp, phase), Receiver::new(tcp));
        sender.record_echoes_for(&receiver);
        if !takes_shortcuts {
            sender.disable_shortcuts();
            receiver.disable_shortcuts();
        }
        Ends { sender, receiver }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn end_points_start_at_fixed_offsets_in_a_cache_line() {
        assert_eq!(offset_of!(Connection, sender), 16);
        assert_eq!(offset_of!(Connection, receiver) % 64, 24);
    }
}
