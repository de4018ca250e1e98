//! Interface for observers of a run. The probe `()` observes nothing and adds no code.

use crate::access::StationEvent;
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

/// An event of a run that probes observe. Fields whose types differ stand in the order of the description.
///
/// Packets at hosts are identified by their flow and by their number on the circuit. Requests, whose number has the flag
/// `REQUEST`, are sent by the flow's receiver.
#[derive(Clone, Copy)]
pub enum Event<'a> {
    /// At the start of the run: the flow of the scenario whose arriving flows have additional connection slots, and the
    /// number of these slots.
    ConnectionSlots(Flow, usize),
    /// A new connection begins in the slot of a flow. The connection's sequence numbers start from 0 again.
    Renewed(Flow),
    /// The window of a sender after an event that may have changed it.
    Window {
        /// Time.
        now: Time,
        /// Flow.
        flow: Flow,
        /// Congestion window [byte].
        cwnd: f64,
        /// Slow start threshold [byte].
        ssthresh: f64,
    },
    /// The state of a sender after an event that may have changed it.
    Control(Time, Flow, &'a SenderState),
    /// The timer of a sender after an event that may have changed it.
    Timer {
        /// Time.
        now: Time,
        /// Flow.
        flow: Flow,
        /// RTT sample, if any.
        measured: Option<Span>,
        /// Smoothed RTT.
        srtt: Option<Span>,
        /// Retransmission timeout.
        rto: Span,
    },
    /// The smoothed RTT of a sender that reports neither RTT samples nor its RTO, after an event that may have changed
    /// it.
    SmoothedRtt(Time, Flow, Span),
    /// UDP payload [byte] of a real stack reaches the flow's receiver.
    ReceivedPayload(Time, Flow, u32),
    /// A packet of a real stack at the flow's sender.
    StackPacket(Flow, &'a StackPacket),
    /// A packet that a real stack sends.
    StackSent(Time, &'a StackBytes<'a>),
    /// The external packet with this number reaches its host, with or without CE, or is lost.
    StackLeft(Time, u64, Fate),
    /// Number of cells or packets in the queue of a link's port when a packet, or the first cell of a frame, arrives.
    Queue(Time, Link, u64),
    /// An event of a sender.
    Sender(Flow, &'a SenderEvent),
    /// A packet or cell was in the queue of a router's or switch's port, and was dropped from it or still waits at the
    /// end of the run.
    Waited {
        /// Link of the port.
        link: Link,
        /// Time of its arrival.
        arrival: Time,
        /// Time until which it was in the queue.
        end: Time,
        /// Its circuit.
        vc: Circuit,
    },
    /// The loss of a packet.
    Dropped(&'a Dropped),
    /// A router's port marks a packet of a flow with CE (RFC 3168).
    Marked(Time, Link, Flow),
    /// An event of the station with medium access at a link's port. Its time may lie in the future.
    Station(Time, Link, StationEvent),
    /// A segment is passed to the sender's interface.
    Sent(Time, Flow, u32, &'a DataSegment),
    /// A segment reaches the receiver.
    Received(Time, Flow, u32, &'a DataSegment),
    /// An ACK is passed to the receiver's interface.
    Answered(Time, Flow, u32, &'a AckSegment),
    /// An ACK reaches the sender.
    Acknowledged(Time, Flow, u32, &'a AckSegment),
    /// A datagram is passed to its sender's interface.
    SentDatagram(Time, Flow, u32, &'a Datagram),
    /// A datagram reaches its receiver; the last field is false if it is a duplicate.
    ReceivedDatagram(Time, Flow, u32, &'a Datagram, bool),
    /// The transmission of a cell on a link, with the packet to which it belongs. The events of one link are in the
    /// order of transmission, and may come before the transmission.
    Cell(Slot, &'a Cell, &'a dyn Fn() -> Contents),
    /// The transmission of a packet on a link that carries packets instead of cells: its circuit, its number on the
    /// circuit, and its contents.
    Packet(Slot, Circuit, u32, &'a dyn Fn() -> Contents),
}

/// Events that the engine creates only for a probe that uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// `Event::Control`.
    Control,
    /// `Event::StackSent` and `Event::StackLeft`.
    StackBytes,
    /// `Event::Queue` at the ports of switches.
    Queue,
    /// `Event::Cell`; the engine then processes every cell individually.
    Cells,
    /// `Event::Sender`.
    SenderEvents,
}

/// An observer of a run. It does not influence the results.
pub trait Probe: Send + Sized + 'static {
    /// Returns whether the probe observes nothing, which allows hosts to process packets early. The result is constant
    /// during a run.
    #[inline(always)]
    fn is_idle(&self) -> bool {
        false
    }

    /// Returns whether the probe uses the events of `detail`. The result is constant during a run.
    #[inline(always)]
    fn wants(&self, _detail: Detail) -> bool {
        false
    }

    /// Observes an event.
    fn observe(&mut self, event: Event<'_>);
}

impl Probe for () {
    #[inline(always)]
    fn is_idle(&self) -> bool {
        true
    }

    #[inline(always)]
    fn observe(&mut self, _event: Event<'_>) {}
}

/// Two probes that observe the same run.
impl<A: Probe, B: Probe> Probe for (A, B) {
    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.0.is_idle() && self.1.is_idle()
    }

    fn wants(&self, detail: Detail) -> bool {
        self.0.wants(detail) || self.1.wants(detail)
    }

    fn observe(&mut self, event: Event<'_>) {
        self.0.observe(event);
        self.1.observe(event);
    }
}

/// A probe that may be absent at run time. Both cases share one compiled engine, which is slightly slower than the
/// engine with `()`.
impl<A: Probe> Probe for Option<A> {
    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.as_ref().is_none_or(A::is_idle)
    }

    fn wants(&self, detail: Detail) -> bool {
        self.as_ref().is_some_and(|probe| probe.wants(detail))
    }

    #[inline(always)]
    fn observe(&mut self, event: Event<'_>) {
        if let Some(probe) = self {
            probe.observe(event);
        }
    }
}
