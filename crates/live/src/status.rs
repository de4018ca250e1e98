//! State and result of a live run.

use crate::connections::Connection;
use crate::lateness::Histogram;
use crate::path::Counts;
use longpipe_events::Time;

/// State or result of a live run.
#[derive(Clone, Debug, Default)]
pub struct LiveStatus {
    /// Time since the start.
    pub elapsed: Time,
    /// Counters of packets that entered.
    pub counts: Counts,
    /// Hash of all decisions.
    pub decisions: u64,
    /// Packets to addresses to which there is no route.
    pub no_route: u64,
    /// Packets that are not IP packets, or that are longer than the path allows.
    pub rejected: u64,
    /// Packets that a device did not accept at the time when they were due.
    pub refused: u64,
    /// Lateness of packets at entry and at delivery together.
    pub lateness: Histogram,
    /// Maximum time [ns] by which a packet was passed to its device before it was due.
    pub earliest_ns: u64,
    /// Number of late packets, including those that entered late and were lost or are on the path.
    pub late: u64,
    /// Longest time [ns] between two polls of the devices in which a packet would not have been noticed at once.
    pub longest_pause_ns: u64,
    /// Bytes of IP packets delivered to each host.
    pub delivered_bytes: Vec<u64>,
    /// TCP connections of which data were acknowledged; empty until the end of the run.
    pub connections: Vec<Connection>,
}
