//! The interface between a port and its queue discipline. It does not depend on the transmitter.

use super::aqm_fifo::AqmFifo;
use super::occupancy_fifo::OccupancyFifo;
use super::subqueues::SubqueueCounters;
use super::{AnyDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::aqm::Aqm;
use crate::policies::parameters::Parameters;
use longpipe_events::{Stream, Time};

/// State of a port at the time when a packet arrives.
#[derive(Clone, Copy, Debug)]
pub struct PortState {
    /// Current time.
    pub now: Time,
    /// Maximum number of packets that may wait within the port's limit; the limit includes the packet in transmission.
    pub room_packets: u64,
    /// Maximum number of bytes that may wait.
    pub room_bytes: u64,
    /// Whether a packet is in transmission.
    pub in_service: bool,
    /// Time since which the port has been empty; None if the port is not empty.
    pub idle_since: Option<Time>,
}

impl PortState {
    /// Returns whether a packet of `bytes` bytes would exceed the limit of a queue that already holds the given numbers
    /// of packets and bytes.
    pub fn is_full(&self, (packets, bytes_waiting): (u64, u64), bytes: u64) -> bool {
        packets >= self.room_packets || bytes_waiting + bytes > self.room_bytes
    }
}

/// Effect, on later packets, of packets that arrive one after the other at an empty, idle port. A constant-rate
/// transmitter may send some of them without calling the discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassThroughEffect {
    /// Each packet may affect the discipline.
    EveryPacket,
    /// `pass_through` always returns true, and the resulting state depends only on the packet.
    LatestPacket,
    /// `pass_through` always returns true and leaves no state that affects later packets.
    Nothing,
}

/// A queue discipline (Linux: qdisc): decides at enqueue and at dequeue which packets wait, leave, are marked and are
/// dropped.
///
/// The port calls `enqueue` for every arrival, and `dequeue` whenever its transmitter can start to send a packet: at
/// once if it is idle, otherwise when the packet in transmission has left, an outage ends, or at the next delivery
/// opportunity. A discipline does not learn which of these is the case, so every discipline works with every
/// transmitter. Dropped packets are passed to `drop` with the cause.
pub trait QueueDisc<T: Queued> {
    /// Enqueues an arriving packet; this packet or others may be dropped. Returns whether the arriving packet was
    /// marked.
    fn enqueue(&mut self, port: &PortState, packet: T, drop: impl FnMut(T, DropCause)) -> bool;

    /// Returns the packet to transmit now; other packets may be dropped before it. `None` leaves the transmitter idle
    /// until the next arrival, or until `release` if packets still wait.
    fn dequeue(&mut self, now: Time, drop: impl FnMut(T, DropCause)) -> Option<T>;

    /// Returns the earliest time, at least `now`, at which `dequeue` may return a waiting packet. It is later than
    /// `now` only for disciplines that shape (`Parameters::shapes`).
    fn release(&self, now: Time) -> Time {
        now
    }

    /// Returns the numbers of waiting packets and bytes.
    fn backlog(&self) -> (u64, u64);

    /// Drops all packets that wait at `now`, because an outage begins. Controllers keep their state.
    fn purge(&mut self, now: Time, drop: impl FnMut(T));

    /// Returns whether packets are marked by `enqueue` rather than by `dequeue`.
    fn marks_on_arrival(&self) -> bool {
        false
    }

    /// Shortcut for a packet that arrives at an empty, idle port. If `enqueue` followed by `dequeue` would return the
    /// packet unmarked, returns true and leaves the state that both calls would leave. The default returns false, so
    /// the port calls both.
    fn pass_through(&mut self, _packet: &T) -> bool {
        false
    }

    /// Records that the transmitter became free at `now` and found no packet. The effect equals that of `dequeue`.
    fn find_empty(&mut self, now: Time) {
        let next = self.dequeue(now, |_, _| {});
        debug_assert!(next.is_none(), "packets wait");
    }

    /// Returns a time before which no call to `dequeue` at or after `now` drops a packet, whatever packets arrive until
    /// then.
    fn drops_none_before(&self, now: Time) -> Time {
        now
    }

    /// Returns the counters of the queues that `Parameters::queue_names` names, in their order.
    fn subqueues(&self) -> Vec<&SubqueueCounters> {
        Vec::new()
    }

    /// Returns the bytes that a shaper has counted, including overhead and framing; 0 without a shaper.
    fn charged_bytes(&self) -> u64 {
        0
    }

    /// Returns how packets for which the port calls `pass_through` affect later packets.
    fn pass_through_effect(&self) -> PassThroughEffect {
        PassThroughEffect::EveryPacket
    }
}

/// What disciplines that divide by host or DSCP need of a circuit: the indices of its sending and its receiving host, and
/// the DSCP, which is the class of its flow.
pub type Endpoints = ([usize; 2], u32);

/// Parameters of a new port, from which its discipline is created.
pub struct NewPort<'a> {
    /// Number of circuits of the scenario's flows.
    pub circuits: usize,
    /// Returns the end points of each circuit.
    pub endpoints: &'a dyn Fn() -> Vec<Endpoints>,
    /// Bit rate of the link.
    pub rate_bps: u64,
    /// Buffer size, in bytes if `by_bytes`, otherwise in packets.
    pub limit: u64,
    /// Whether the buffer size is in bytes.
    pub by_bytes: bool,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the link.
    pub link: u64,
}

impl NewPort<'_> {
    /// Returns the random stream of the link's policy, from which hashed disciplines draw their salts.
    pub fn random(&self) -> Stream {
        Stream::new(self.seed, "policy", self.link)
    }
}

/// Creates the queue discipline of a policy. The default is a FIFO that drops at enqueue by active queue management or by
/// the occupancy.
pub trait Discipline: Parameters + Sized {
    /// Creates the empty discipline of a port.
    fn disc<T: Queued>(&self, port: &NewPort<'_>) -> AnyDisc<T> {
        match Aqm::new(self, port.rate_bps, port.seed, port.link) {
            Some(aqm) => AnyDisc::AqmFifo(AqmFifo::new(aqm)),
            None => {
                let policy = self.buffer_policy(port.limit as f64);
                AnyDisc::OccupancyFifo(OccupancyFifo::new(policy, port.by_bytes))
            }
        }
    }
}
