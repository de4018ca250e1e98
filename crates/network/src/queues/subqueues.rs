//! Counters of the queues into which a discipline divides a port: the queues of DualPI2, the tins of CAKE, and the
//! queues of classes.

use super::Queued;
use crate::packets::drops::DropCause;
use longpipe_events::Time;

/// Counters of one queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubqueueCounters {
    /// Packets that arrived.
    pub packets_in: u64,
    /// Packets that were passed to the transmitter.
    pub packets_out: u64,
    /// Packets for which the buffer did not have enough room.
    pub lost_overflow: u64,
    /// Packets that the discipline dropped or removed for any cause other than overflow.
    pub lost_aqm: u64,
    /// Packets that an outage dropped while they waited.
    pub lost_outage: u64,
    /// Packets that were marked and passed to the transmitter.
    pub packets_marked: u64,
    /// Bytes of the packets that arrived.
    pub bytes_in: u64,
    /// Bytes of the packets that were passed to the transmitter.
    pub bytes_out: u64,
    /// Bytes of all lost packets.
    pub bytes_lost: u64,
    /// Maximum number of packets that waited.
    pub peak_packets: u64,
    /// Total time [packet·ps] from arrival to the start of transmission, of the packets that were transmitted.
    delays: u128,
    /// Total time [packet·ps] from arrival to the start of transmission or drop: the sum of the times at which packets
    /// left the queue, minus the sum of the times at which packets arrived, modulo 2¹²⁸.
    packet_time: u128,
}

impl SubqueueCounters {
    /// Returns the number of packets that wait.
    pub fn packets_held(&self) -> u64 {
        self.packets_in - self.packets_out - self.lost_overflow - self.lost_aqm - self.lost_outage
    }

    /// Returns the number of bytes that wait.
    pub fn bytes_held(&self) -> u64 {
        self.bytes_in - self.bytes_out - self.bytes_lost
    }

    /// Returns the time-averaged number of packets that waited until `now`.
    pub fn mean_packets(&self, now: Time) -> f64 {
        let held = u128::from(self.packets_held()) * u128::from(now.0);
        self.packet_time.wrapping_add(held) as f64 / now.0 as f64
    }

    /// Returns the mean time [ps] from arrival to the start of transmission; None if no packet was transmitted.
    pub fn mean_delay(&self) -> Option<f64> {
        (self.packets_out > 0).then(|| self.delays as f64 / self.packets_out as f64)
    }

    /// Counts a packet of `bytes` bytes that is enqueued at `now`.
    pub(super) fn enter(&mut self, now: Time, bytes: u64) {
        self.count_arrival(bytes);
        self.packet_time = self.packet_time.wrapping_sub(u128::from(now.0));
        self.peak_packets = self.peak_packets.max(self.packets_held());
    }

    /// Counts a packet of `bytes` bytes that is dropped on arrival, because the buffer is full.
    pub(super) fn refuse(&mut self, bytes: u64) {
        self.count_arrival(bytes);
        self.lost_overflow += 1;
        self.bytes_lost += bytes;
    }

    fn count_arrival(&mut self, bytes: u64) {
        self.packets_in += 1;
        self.bytes_in += bytes;
    }

    /// Counts a packet that is passed to the transmitter at `now`.
    pub(super) fn leave(&mut self, now: Time, packet: &impl Queued) {
        self.packets_out += 1;
        self.bytes_out += packet.bytes();
        self.packets_marked += u64::from(packet.is_marked());
        self.delays += u128::from((now - packet.arrival()).0);
        self.packet_time = self.packet_time.wrapping_add(u128::from(now.0));
    }

    /// Counts an enqueued packet that is dropped at `now`.
    pub(super) fn lose(&mut self, now: Time, packet: &impl Queued, cause: DropCause) {
        match cause.counted_as() {
            DropCause::Overflow => self.lost_overflow += 1,
            DropCause::Outage => self.lost_outage += 1,
            _ => self.lost_aqm += 1,
        }
        self.bytes_lost += packet.bytes();
        self.packet_time = self.packet_time.wrapping_add(u128::from(now.0));
    }
}
