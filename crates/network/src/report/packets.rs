//! Results of each port for a run with IP packets.

use crate::access::AccessReport;
use crate::impairments::bit_errors::BitErrors;
use crate::packets::drops::DropCause;
use crate::report::state_hash::StateHash;
use crate::time_varying::order::Overtakings;
use longpipe_events::{Rate, Time};

/// Additional results of a time-varying link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeVaryingReport {
    /// Packets dropped on arrival, or from the queue, in an outage.
    pub lost_outage: u64,
    /// Packets lost on the wire in an outage.
    pub lost_on_wire: u64,
    /// Bytes of the packets lost on the wire in an outage.
    pub bytes_lost_on_wire: u64,
    /// Reordering on the wire.
    pub overtakings: Overtakings,
    /// Whether the line was fast enough to have sent all bits that left.
    pub(crate) within_capacity: bool,
}

impl TimeVaryingReport {
    /// Returns the report of a link on which only the delay varies and packets keep their order.
    pub(crate) fn of_delay(within_capacity: bool) -> TimeVaryingReport {
        TimeVaryingReport {
            within_capacity,
            ..TimeVaryingReport::default()
        }
    }
}

/// Results of one link's output port.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacketReport {
    /// Whether the port belongs to a host.
    pub host: bool,
    /// Packets that arrived.
    pub packets_in: u64,
    /// Packets that arrived twice; each counts once in `packets_in`.
    pub packets_duplicated: u64,
    /// Bytes of the packets that arrived twice.
    pub bytes_duplicated: u64,
    /// Packets that left a router, or arrived at the end of a host's link.
    pub packets_out: u64,
    /// Packets for which the buffer did not have enough room.
    pub lost_overflow: u64,
    /// Packets that a policy or a queue discipline dropped or removed for any cause other than overflow.
    pub lost_aqm: u64,
    /// Packets dropped by injected loss.
    pub lost_injected: u64,
    /// Packets that a policer dropped.
    pub lost_policer: u64,
    /// Packets that medium access lost: their transmissions failed.
    pub lost_access: u64,
    /// Packets that were marked, and admitted or sent.
    pub packets_marked: u64,
    /// Packets held at the end.
    pub packets_held: u64,
    /// Bytes of the packets that arrived.
    pub bytes_in: u64,
    /// Bytes of the packets that left.
    pub bytes_out: u64,
    /// Bytes of all lost packets.
    pub bytes_lost: u64,
    /// Bytes held at the end.
    pub bytes_held: u64,
    /// Maximum number of packets held; 0 for hosts, whose queues are not measured.
    pub peak_packets: u64,
    /// Maximum number of bytes held; 0 for hosts.
    pub peak_bytes: u64,
    /// Time-averaged number of packets held; None for hosts.
    pub mean_packets: Option<f64>,
    /// Fraction of the line's capacity that was used.
    pub utilization: f64,
    /// Bytes that the shaper of CAKE counted, with overhead and framing; not part of the hash.
    pub shaper_bytes: u64,
    /// Results of a time-varying link.
    pub motion: Option<TimeVaryingReport>,
    /// Packets corrupted by bit errors on the wire; they are included in the packets that left.
    pub corrupted: u64,
    /// Bytes of the packets corrupted by bit errors.
    pub bytes_corrupted: u64,
    /// Packets that arrived at a router from which no route continued; they are included in the packets that left.
    pub no_route: u64,
    /// Bytes of the packets without a continuing route.
    pub bytes_no_route: u64,
    /// Results of medium access.
    pub access: Option<AccessReport>,
}

impl PacketReport {
    /// Counts a packet that is lost at the port, for another cause than an outage.
    pub(crate) fn lose(&mut self, bytes: u64, cause: DropCause) {
        match cause.counted_as() {
            DropCause::InjectedLoss => self.lost_injected += 1,
            DropCause::Overflow => self.lost_overflow += 1,
            DropCause::Policer => self.lost_policer += 1,
            DropCause::Access => self.lost_access += 1,
            _ => self.lost_aqm += 1,
        }
        self.bytes_lost += bytes;
    }

    /// Turns the report of a router's port into that of a host: `on_wire` packets and bytes, which have left but not
    /// arrived, count as held, and the queue's statistics are cleared.
    pub(crate) fn hold_on_wire(&mut self, on_wire: (u64, u64)) {
        self.packets_held += on_wire.0;
        self.bytes_held += on_wire.1;
        self.packets_out -= on_wire.0;
        self.bytes_out -= on_wire.1;
        (self.peak_packets, self.peak_bytes, self.mean_packets) = (0, 0, None);
    }

    /// Returns whether all packets and bytes are accounted for, and whether a line of this rate could have sent, by
    /// `now`, all bits that left. For `Interface` and `Router`, the first condition holds by construction, so they are
    /// checked by the balance of each router (`ip/conservation.rs`) instead.
    pub(crate) fn conserves(&self, rate: Rate, now: Time) -> bool {
        self.packets_in + self.packets_duplicated == self.packets_out + self.packets_lost() + self.packets_held
            && self.bytes_in + self.bytes_duplicated == self.bytes_out + self.bytes_lost + self.bytes_held
            && match self.motion {
                None => rate.can_have_sent(self.bytes_out, now),
                Some(motion) => motion.within_capacity,
            }
    }

    /// Returns the number of packets lost before the end of the wire. Packets lost because of bit errors or missing
    /// routes count as having left the port.
    pub(crate) fn packets_lost(&self) -> u64 {
        let time_varying = self.motion.map_or(0, |motion| motion.lost_outage + motion.lost_on_wire);
        self.lost_overflow + self.lost_aqm + self.lost_injected + self.lost_policer + self.lost_access + time_varying
    }

    /// Returns the report with the counters of packets that bit errors corrupted, and of packets and bytes without a
    /// route.
    pub(crate) fn with(mut self, errors: Option<&BitErrors>, no_route: (u64, u64)) -> PacketReport {
        if let Some(errors) = errors {
            (self.corrupted, self.bytes_corrupted) = (errors.corrupted, errors.corrupted_bits / 8);
        }
        (self.no_route, self.bytes_no_route) = no_route;
        self
    }

    /// Returns the packets and bytes that left and were lost at the end of the wire.
    pub(crate) fn lost_at_end(&self) -> (u64, u64) {
        (
            self.corrupted + self.no_route,
            self.bytes_corrupted + self.bytes_no_route,
        )
    }

    /// Adds all results to a hash of the final state. Bit errors, packets without a route, marks and medium access
    /// are added only if there are any.
    pub(crate) fn hash(&self, hash: &mut StateHash) {
        let words = [
            self.packets_in,
            self.packets_out,
            self.lost_overflow,
            self.lost_aqm,
            self.lost_injected,
            self.packets_held,
            self.bytes_in,
            self.bytes_out,
            self.bytes_lost,
            self.bytes_held,
            self.peak_packets,
            self.peak_bytes,
            self.mean_packets.map_or(0, f64::to_bits),
        ];
        let time_varying = self.motion.map(|motion| {
            let Overtakings { packets, furthest } = motion.overtakings;
            [motion.lost_outage, motion.lost_on_wire, packets, furthest]
        });
        let corrupted = Some(self.corrupted).filter(|&corrupted| corrupted > 0);
        let no_route = Some(self.no_route).filter(|&no_route| no_route > 0);
        let policed = Some(self.lost_policer).filter(|&policed| policed > 0);
        let lost_access = Some(self.lost_access).filter(|&lost| lost > 0);
        let duplicated = Some(self.packets_duplicated).filter(|&duplicated| duplicated > 0);
        let marked = Some(self.packets_marked).filter(|&marked| marked > 0);
        let access = self.access.map(AccessReport::words);
        words
            .into_iter()
            .chain(corrupted)
            .chain(no_route)
            .chain(policed)
            .chain(lost_access)
            .chain(duplicated)
            .chain(marked)
            .chain(time_varying.into_iter().flatten())
            .chain(access.into_iter().flatten())
            .for_each(|word| hash.word(word));
    }
}
