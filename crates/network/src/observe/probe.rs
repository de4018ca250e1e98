//! Interface for observers of a run. The probe `()` observes nothing and adds no code.

use crate::observe::capture::StackBytes;
use crate::observe::stack_packets::StackPacket;
use crate::packets::aal5::Cell;
use crate::packets::contents::{Contents, Datagram};
use crate::packets::drops::Dropped;
use crate::packets::external::Fate;
use crate::packets::{Circuit, Flow, Link};
use longpipe_events::{Span, Time};
use longpipe_tcp::journal::SenderEvent;
use longpipe_tcp::sender::SenderState;
use longpipe_tcp::{AckSegment, DataSegment};

/// Transmission times of a cell or packet on a link.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The link.
    pub link: Link,
    /// Arrival time at the switch's port; None at a host's interface.
    pub arrival: Option<Time>,
    /// Time at which its last bit leaves.
    pub departure: Time,
}

/// An observer of a run. It does not influence the results.
pub trait Probe: Send + Sized + 'static {
    /// Returns whether the probe observes nothing, which allows hosts to process packets early. The result is constant
    /// during a run.
    #[inline(always)]
    fn is_idle(&self) -> bool {
        false
    }

    /// Reports, at the start of the run, that `count` additional flows are the connection slots of the arriving flows
    /// of `owner`.
    fn add_connection_slots(&mut self, _owner: Flow, _count: usize) {}
    /// Reports that a new connection begins in the slot `flow`. The connection's sequence numbers start from 0 again.
    fn renewed(&mut self, _flow: Flow) {}
    /// Reports cwnd and ssthresh [byte] of a sender after an event that may have changed them.
    fn window(&mut self, _now: Time, _flow: Flow, _cwnd: f64, _ssthresh: f64) {}
    /// Returns whether the probe uses `control`.
    fn wants_control(&self) -> bool {
        false
    }
    /// Reports the state of a sender after an event that may have changed it.
    fn control(&mut self, _now: Time, _flow: Flow, _sender: &SenderState) {}
    /// Reports a sender's timer after an event that may have changed it: the RTT sample, if any, the SRTT and the RTO.
    fn timer(&mut self, _now: Time, _flow: Flow, _measured: Option<Span>, _srtt: Option<Span>, _rto: Span) {}
    /// Reports the SRTT of a sender that reports neither RTT samples nor its RTO, after an event that may have changed
    /// it.
    fn smoothed_rtt(&mut self, _now: Time, _flow: Flow, _srtt: Span) {}
    /// Reports that UDP payload of a real stack has arrived at the flow's receiver.
    fn received_payload(&mut self, _now: Time, _flow: Flow, _bytes: u32) {}
    /// Reports a packet of a real stack at the flow's sender.
    fn stack_packet(&mut self, _flow: Flow, _packet: &StackPacket) {}
    /// Returns whether the probe uses `stack_sent` and `stack_left`.
    fn wants_stack_bytes(&self) -> bool {
        false
    }
    /// Reports the bytes of a packet that a real stack sends.
    fn stack_sent(&mut self, _now: Time, _packet: &StackBytes<'_>) {}
    /// Reports that an external packet has reached its host, with or without CE, or was lost.
    fn stack_left(&mut self, _now: Time, _id: u64, _fate: Fate) {}
    /// Returns whether the probe uses `queue`.
    fn wants_queue(&self) -> bool {
        false
    }
    /// Returns whether the probe uses `cell`; if so, the engine processes every cell individually.
    fn wants_cells(&self) -> bool {
        false
    }
    /// Reports the number of cells queued in a switch port when the first cell of a frame arrives.
    fn queue(&mut self, _now: Time, _link: Link, _held: u64) {}
    /// Returns whether the probe uses `event`.
    fn wants_events(&self) -> bool {
        false
    }
    /// Reports an event of a sender.
    fn event(&mut self, _flow: Flow, _event: &SenderEvent) {}
    /// Reports a packet or cell that was in the queue of a router's or switch's port from `arrival` to `end`, and was
    /// dropped from it or still waits at the end of the run.
    fn waited(&mut self, _link: Link, _arrival: Time, _end: Time, _vc: Circuit) {}
    /// Reports the loss of a packet.
    fn dropped(&mut self, _dropped: &Dropped) {}
    /// Reports that a router's port marks a packet of a flow with CE (RFC 3168).
    fn marked(&mut self, _now: Time, _link: Link, _flow: Flow) {}
    /// Reports a segment that is passed to the sender's interface, as packet number `frame` of its circuit. Here and in
    /// the following functions, requests, whose number has the flag `REQUEST`, are sent by the flow's receiver.
    fn sent(&mut self, _now: Time, _flow: Flow, _frame: u32, _segment: &DataSegment) {}
    /// Reports a segment that reaches the receiver.
    fn received(&mut self, _now: Time, _flow: Flow, _frame: u32, _segment: &DataSegment) {}
    /// Reports an ACK that is passed to the receiver's interface.
    fn answered(&mut self, _now: Time, _flow: Flow, _frame: u32, _ack: &AckSegment) {}
    /// Reports an ACK that reaches the sender.
    fn acknowledged(&mut self, _now: Time, _flow: Flow, _frame: u32, _ack: &AckSegment) {}
    /// Reports a datagram that is passed to its sender's interface, as packet number `frame` of its circuit.
    fn sent_datagram(&mut self, _now: Time, _flow: Flow, _frame: u32, _datagram: &Datagram) {}
    /// Reports a datagram that reaches its receiver; `first` is false if it is a duplicate.
    fn received_datagram(&mut self, _now: Time, _flow: Flow, _frame: u32, _datagram: &Datagram, _first: bool) {}
    /// Reports the transmission of a cell on a link. The calls for one link are in the order of transmission, and may
    /// be made before the transmission.
    fn cell(&mut self, _slot: Slot, _cell: &Cell, _contents: impl Fn() -> Contents) {}
    /// Reports the transmission of a packet on a link that carries packets instead of cells.
    fn packet(&mut self, _slot: Slot, _vc: Circuit, _frame: u32, _contents: impl Fn() -> Contents) {}
}

impl Probe for () {
    #[inline(always)]
    fn is_idle(&self) -> bool {
        true
    }
}

/// Passes the methods of `Probe` to a macro: those that return whether the probe uses reports, and those that report.
/// `cell` and `packet` are missing, because they are generic.
macro_rules! methods {
    ($forward:ident) => {
        $forward! {
            wants_control, wants_stack_bytes, wants_queue, wants_cells, wants_events;
            add_connection_slots(owner: Flow, count: usize);
            renewed(flow: Flow);
            window(now: Time, flow: Flow, cwnd: f64, ssthresh: f64);
            control(now: Time, flow: Flow, sender: &SenderState);
            timer(now: Time, flow: Flow, measured: Option<Span>, srtt: Option<Span>, rto: Span);
            smoothed_rtt(now: Time, flow: Flow, srtt: Span);
            received_payload(now: Time, flow: Flow, bytes: u32);
            stack_packet(flow: Flow, packet: &StackPacket);
            stack_sent(now: Time, packet: &StackBytes<'_>);
            stack_left(now: Time, id: u64, fate: Fate);
            queue(now: Time, link: Link, held: u64);
            event(flow: Flow, event: &SenderEvent);
            waited(link: Link, arrival: Time, end: Time, vc: Circuit);
            dropped(dropped: &Dropped);
            marked(now: Time, link: Link, flow: Flow);
            sent(now: Time, flow: Flow, frame: u32, segment: &DataSegment);
            received(now: Time, flow: Flow, frame: u32, segment: &DataSegment);
            answered(now: Time, flow: Flow, frame: u32, ack: &AckSegment);
            acknowledged(now: Time, flow: Flow, frame: u32, ack: &AckSegment);
            sent_datagram(now: Time, flow: Flow, frame: u32, datagram: &Datagram);
            received_datagram(now: Time, flow: Flow, frame: u32, datagram: &Datagram, first: bool);
        }
    };
}

/// Forwards methods to both probes of a pair.
macro_rules! to_both {
    ($($wants:ident),+; $($report:ident($($argument:ident: $type:ty),+);)+) => {
        $(fn $wants(&self) -> bool {
            self.0.$wants() || self.1.$wants()
        })+

        $(fn $report(&mut self, $($argument: $type),+) {
            self.0.$report($($argument),+);
            self.1.$report($($argument),+);
        })+
    };
}

/// Forwards methods to a probe that may be absent.
macro_rules! to_present {
    ($($wants:ident),+; $($report:ident($($argument:ident: $type:ty),+);)+) => {
        $(fn $wants(&self) -> bool {
            self.as_ref().is_some_and(A::$wants)
        })+

        $(fn $report(&mut self, $($argument: $type),+) {
            if let Some(probe) = self {
                probe.$report($($argument),+);
            }
        })+
    };
}

/// Two probes that observe the same run.
impl<A: Probe, B: Probe> Probe for (A, B) {
    methods!(to_both);

    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.0.is_idle() && self.1.is_idle()
    }

    fn cell(&mut self, slot: Slot, cell: &Cell, contents: impl Fn() -> Contents) {
        self.0.cell(slot, cell, &contents);
        self.1.cell(slot, cell, &contents);
    }

    fn packet(&mut self, slot: Slot, vc: Circuit, frame: u32, contents: impl Fn() -> Contents) {
        self.0.packet(slot, vc, frame, &contents);
        self.1.packet(slot, vc, frame, &contents);
    }
}

/// A probe that may be absent at run time. Both cases share one compiled engine, which is slightly slower than the
/// engine with `()`.
impl<A: Probe> Probe for Option<A> {
    methods!(to_present);

    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.as_ref().is_none_or(A::is_idle)
    }

    fn cell(&mut self, slot: Slot, cell: &Cell, contents: impl Fn() -> Contents) {
        if let Some(probe) = self {
            probe.cell(slot, cell, contents);
        }
    }

    fn packet(&mut self, slot: Slot, vc: Circuit, frame: u32, contents: impl Fn() -> Contents) {
        if let Some(probe) = self {
            probe.packet(slot, vc, frame, contents);
        }
    }
}
