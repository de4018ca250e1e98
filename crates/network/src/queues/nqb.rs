//! The Non-Queue-Building per-hop behavior: a shallow queue for packets that are marked NQB beside a default queue, both
//! with an equal share of the link (RFC 9956).

use super::dualpi2::LowLatencyMarking;
use super::protection::{two_packets_ps, QueueProtection, QueueProtectionConfig};
use super::round_robin::{QueueMapping, RoundRobin};
use super::subqueues::SubqueueCounters;
use super::{AnyDisc, Discipline, NewPort, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::parameters::{Decides, Facts, Parameters};
use longpipe_events::{Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// DSCP of packets that are marked NQB (RFC 9956 section 4.1).
pub const NQB_DSCP: u32 = 45;

/// A shallow queue for flows marked NQB beside a default queue, by round robin with equal shares (RFC 9956).
///
/// Packets with DSCP 45, which is a flow's field 'class', enter the shallow queue, without priority and without a limit on
/// their rate. Traffic protection moves packets of flows that build a queue there to the default queue.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "NQB")]
pub struct NqbConfig {
    /// Bytes that a queue may send per round [bytes].
    #[field(range = "[64 B, 1 GB]", default = "1514 B")]
    pub quantum_bytes: u32,
    /// Size of the NQB queue, as the time to transmit it at the link's rate [time]; at least two packets of 1500 bytes; RFC
    /// 9956 section 5 (small; the RFC gives no value).
    #[field(range = "[1 us, 1000 s]", default = "10 ms")]
    pub size_ps: u64,
    /// Traffic protection; RFC 9956 section 5.2.
    #[field(default = "rfc9957")]
    pub protection: QueueProtectionConfig,
    /// Probability with which a low-latency queue would mark a packet, as a function of the delay that it finds: the weight
    /// of its bytes in a flow's score. No packet is marked; RFC 9957.
    #[field(default = "ramp")]
    pub weight: LowLatencyMarking,
}

impl Parameters for NqbConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue);

    /// A scheduler chooses between queues, but if no packet ever waits, at most one queue holds a packet, and no packet
    /// finds a delay.
    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn queue_names(&self) -> Vec<String> {
        vec!["nqb".to_owned(), "default".to_owned()]
    }
}

impl Discipline for NqbConfig {
    fn disc<T: Queued>(&self, port: &NewPort<'_>) -> AnyDisc<T> {
        AnyDisc::Nqb(Box::new(Nqb::new(self, port)))
    }
}

/// Returns for each circuit of a port whether its packets are marked NQB.
pub fn marked_nqb(port: &NewPort<'_>) -> Vec<bool> {
    (port.endpoints)().iter().map(|&(_, dscp)| dscp == NQB_DSCP).collect()
}

/// Numbers of the two queues.
const NQB: u32 = 0;
const DEFAULT: u32 = 1;

/// The two queues.
#[derive(Clone, Debug)]
pub struct Nqb<T> {
    queues: RoundRobin<Assigned<T>>,
    counters: [SubqueueCounters; 2],
    protection: Option<QueueProtection>,
    weight: LowLatencyMarking,
    /// Whether packets of each circuit are marked NQB.
    marked: Vec<bool>,
    rate_bps: u64,
    /// Maximum number of bytes in the NQB queue.
    room_bytes: u64,
}

/// A packet with the number of its queue.
#[derive(Clone, Debug)]
struct Assigned<T> {
    packet: T,
    queue: u32,
}

impl<T: Queued> Queued for Assigned<T> {
    fn arrival(&self) -> Time {
        self.packet.arrival()
    }

    fn bytes(&self) -> u64 {
        self.packet.bytes()
    }

    fn is_capable(&self) -> bool {
        self.packet.is_capable()
    }

    fn mark(&mut self) -> bool {
        self.packet.mark()
    }

    fn is_marked(&self) -> bool {
        self.packet.is_marked()
    }
}

impl<T: Queued> Nqb<T> {
    /// Creates two empty queues.
    fn new(config: &NqbConfig, port: &NewPort<'_>) -> Nqb<T> {
        let quanta = [u64::from(config.quantum_bytes); 2];
        let size_ps = config.size_ps.max(two_packets_ps(port.rate_bps));
        let room_bits = u128::from(size_ps) * u128::from(port.rate_bps) / u128::from(PS_PER_SECOND);
        Nqb {
            queues: RoundRobin::new(quanta, QueueMapping::PerFlow),
            counters: Default::default(),
            protection: QueueProtection::new(&config.protection, port.rate_bps, port.circuits),
            weight: config.weight,
            marked: marked_nqb(port),
            rate_bps: port.rate_bps,
            room_bytes: u64::try_from(room_bits / 8).unwrap_or(u64::MAX),
        }
    }

    /// Returns the time [ps] that the packets of the NQB queue need, at half of the link's rate while the default queue
    /// also holds packets.
    fn delay_ps(&self) -> u64 {
        let shares = 1 + u64::from(self.queues.backlog_of(DEFAULT).0 > 0);
        let bits = u128::from(self.queues.backlog_of(NQB).1) * 8 * u128::from(shares);
        let delay = bits * u128::from(PS_PER_SECOND) / u128::from(self.rate_bps.max(1));
        u64::try_from(delay).unwrap_or(u64::MAX)
    }

    /// Returns the queue of an arriving packet.
    fn queue_of(&mut self, now: Time, packet: &T) -> u32 {
        let flow = packet.flow();
        if !self.marked[flow as usize] {
            return DEFAULT;
        }
        let (delay_ps, weight) = (self.delay_ps(), self.weight);
        match &mut self.protection {
            Some(protection) => {
                let likelihood = weight.probability(delay_ps);
                let moves = protection.moves(now, flow, packet.bytes(), delay_ps, likelihood);
                if moves {
                    DEFAULT
                } else {
                    NQB
                }
            }
            None => NQB,
        }
    }
}

impl<T: Queued> QueueDisc<T> for Nqb<T> {
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let (queue, bytes) = (self.queue_of(port.now, &packet), packet.bytes());
        let held = self.queues.backlog_of(queue);
        let counters = &mut self.counters[queue as usize];
        if port.is_full(held, bytes) || (queue == NQB && held.1 + bytes > self.room_bytes) {
            counters.refuse(bytes);
            drop(packet, DropCause::Overflow);
        } else {
            counters.enter(port.now, bytes);
            self.queues.push(port.now, queue, Assigned { packet, queue });
        }
        false
    }

    fn dequeue(&mut self, now: Time, mut drop: impl FnMut(T, DropCause)) -> Option<T> {
        let Assigned { packet, queue } = self
            .queues
            .dequeue(now, |assigned, cause| drop(assigned.packet, cause))?;
        self.counters[queue as usize].leave(now, &packet);
        Some(packet)
    }

    fn backlog(&self) -> (u64, u64) {
        self.queues.backlog()
    }

    fn purge(&mut self, now: Time, mut drop: impl FnMut(T)) {
        let counters = &mut self.counters;
        self.queues.purge(now, |Assigned { packet, queue }| {
            counters[queue as usize].lose(now, &packet, DropCause::Outage);
            drop(packet);
        });
    }

    fn subqueues(&self) -> Vec<&SubqueueCounters> {
        self.counters.iter().collect()
    }
}
