//! Lengths of full-sized packets in each unit of buffers.

use crate::input::{Ports, Tcp};

/// Length of the headers of IP and TCP [byte].
const TCP_HEADERS: u64 = 40;
/// Length of the timestamp option [byte], padded as appendix A of RFC 7323 recommends.
const TIMESTAMP_BYTES: u64 = 12;
/// Length of the headers of IP and UDP [byte].
const DATAGRAM_HEADERS: u64 = 28;
/// Length of the payload of an ATM cell [byte].
const CELL_PAYLOAD_BYTES: u64 = 48;
/// Length of the LLC/SNAP header and the AAL5 trailer [byte].
const AAL5_BYTES: u64 = 16;

/// Length of a full-sized packet in each unit of buffers.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// Description of the payload in messages.
    pub(crate) payload: String,
    /// Length [cells].
    pub(crate) cells: u64,
    /// Length [byte].
    pub(crate) bytes: u64,
}

impl Packet {
    fn new(payload: String, bytes: u64) -> Packet {
        Packet {
            payload,
            cells: (bytes + AAL5_BYTES).div_ceil(CELL_PAYLOAD_BYTES),
            bytes,
        }
    }

    /// Returns the longest full segment of all flows, or the longest datagram if no flow uses TCP.
    pub(crate) fn longest(ports: &Ports) -> Packet {
        if let Some(payload) = ports.datagrams.iter().max() {
            let shown = format!("with a payload of {payload} B");
            return Packet::new(shown, payload + DATAGRAM_HEADERS);
        }
        // Of equal lengths, the first counts.
        let longest = ports.tcps.iter().rev().max_by_key(|tcp| segment_bytes(tcp));
        let (mss, bytes) = longest.map_or((0, TCP_HEADERS), |tcp| (tcp.mss_bytes, segment_bytes(tcp)));
        Packet::new(format!("at MSS {mss}"), bytes)
    }
}

/// Returns the length [byte] of the IP packet that carries a full segment.
pub(crate) fn segment_bytes(tcp: &Tcp) -> u64 {
    let stamps = if tcp.has_timestamps { TIMESTAMP_BYTES } else { 0 };
    tcp.mss_bytes + TCP_HEADERS + stamps
}
