//! Acknowledged data and retransmissions of real TCP connections, from the packets that enter the path. A kernel's
//! counters of a connection are read at intervals, and are lost when it ends.

use crate::headers::FlowKey;
use longpipe_events::Time;
use std::collections::HashMap;

/// Maximum number of connections; further ones are not counted.
const MAX_CONNECTIONS: usize = 1 << 12;
const TCP: u8 = 6;
const FIN: u8 = 1;
const SYN: u8 = 1 << 1;
const ACK: u8 = 1 << 4;
/// Length of a TCP header without options.
const TCP_BYTES: usize = 20;

/// Data of one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Addresses and ports, from the sender of the data to their receiver.
    pub flow: FlowKey,
    /// Bytes acknowledged.
    pub bytes: u64,
    /// Segments that entered the path with data, a SYN or a FIN below the highest sequence number sent before.
    pub retransmitted: u64,
    /// Time of the first ACK, with which the connection is established.
    pub began: Time,
    /// Time of the latest ACK that acknowledged new data.
    pub ended: Time,
    /// The latest acknowledgement number; that of the SYN before the first ACK.
    acknowledgement: u32,
    is_established: bool,
    /// The acknowledgement number of the FIN, if the sender has sent one.
    after_fin: Option<u32>,
    /// The sequence number of the latest SYN.
    syn: Option<u32>,
    /// The sequence number after the highest one sent (SND.MAX); None before the first segment.
    sent: Option<u32>,
}

/// All connections.
#[derive(Debug, Default)]
pub struct Connections {
    numbers: HashMap<FlowKey, usize>,
    all: Vec<Connection>,
    /// Cache: the latest flow of ACKs and the number of the connection whose data it acknowledges.
    last: Option<(FlowKey, usize)>,
    /// Cache: the latest flow of data and the number of its connection.
    last_sent: Option<(FlowKey, usize)>,
}

impl Connections {
    /// Counts the data that a packet sends and acknowledges, which enters the path at `at`; `header_bytes` is the length
    /// of its IP header.
    pub fn enter(&mut self, at: Time, flow: FlowKey, packet: &[u8], header_bytes: usize) {
        let Some(tcp) = packet.get(header_bytes..).filter(|_| flow.protocol == TCP) else {
            return;
        };
        let Some(header) = tcp.get(..TCP_BYTES) else {
            return;
        };
        let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let flags = header[13];
        let (sequence, payload) = (word(4), tcp.len().saturating_sub(usize::from(header[12] >> 4) * 4));
        let length = payload as u32 + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
        if length > 0 {
            self.send(at, flow, sequence, length, flags);
        }
        if flags & ACK != 0 {
            self.acknowledge(at, flow, word(8));
        }
    }

    /// Records a segment with `length` sequence numbers from `sequence`. A later connection may have the addresses and
    /// ports of an earlier one; its SYN has another sequence number.
    fn send(&mut self, at: Time, data: FlowKey, sequence: u32, length: u32, flags: u8) {
        let number = match self.last_sent.filter(|(last, _)| *last == data) {
            Some((_, number)) => number,
            None => {
                let Some(number) = self.number_of(at, data, sequence) else {
                    return;
                };
                self.last_sent = Some((data, number));
                number
            }
        };
        let (own, end) = (&mut self.all[number], sequence.wrapping_add(length));
        if flags & SYN != 0 && own.syn != Some(sequence) {
            own.acknowledgement = sequence.wrapping_add(1);
            (own.syn, own.sent, own.after_fin) = (Some(sequence), None, None);
        }
        if flags & FIN != 0 {
            own.after_fin = Some(end);
        }
        match own.sent {
            Some(sent) if is_before(sequence, sent) => {
                own.retransmitted += 1;
                if is_before(sent, end) {
                    own.sent = Some(end);
                }
            }
            _ => own.sent = Some(end),
        }
    }

    fn acknowledge(&mut self, at: Time, flow: FlowKey, acknowledgement: u32) {
        let number = match self.last.filter(|(last, _)| *last == flow) {
            Some((_, number)) => number,
            None => {
                let Some(number) = self.number_of(at, flow.reversed(), acknowledgement) else {
                    return;
                };
                self.last = Some((flow, number));
                number
            }
        };
        let own = &mut self.all[number];
        if !own.is_established {
            (own.is_established, own.began, own.ended) = (true, at, at);
        }
        if !is_before(own.acknowledgement, acknowledgement) {
            return;
        }
        let more = acknowledgement.wrapping_sub(own.acknowledgement);
        let fin = u64::from(own.after_fin == Some(acknowledgement));
        own.acknowledgement = acknowledgement;
        own.bytes += u64::from(more) - fin;
        if u64::from(more) > fin {
            own.ended = at;
        }
    }

    /// Returns the number of the connection with these data; None if there are too many connections.
    fn number_of(&mut self, at: Time, data: FlowKey, acknowledgement: u32) -> Option<usize> {
        if let Some(&number) = self.numbers.get(&data) {
            return Some(number);
        }
        if self.all.len() >= MAX_CONNECTIONS {
            return None;
        }
        let number = self.all.len();
        self.numbers.insert(data, number);
        self.all.push(Connection {
            flow: data,
            bytes: 0,
            retransmitted: 0,
            began: at,
            ended: at,
            acknowledgement,
            is_established: false,
            after_fin: None,
            syn: None,
            sent: None,
        });
        Some(number)
    }

    /// Returns the connections of which data were acknowledged, in order of appearance.
    pub fn with_data(&self) -> Vec<Connection> {
        self.all.iter().filter(|own| own.bytes > 0).copied().collect()
    }
}

/// Returns whether a sequence number precedes another one, modulo 2³² (RFC 9293).
fn is_before(first: u32, second: u32) -> bool {
    let ahead = second.wrapping_sub(first);
    ahead > 0 && ahead <= u32::MAX / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    const HEADER: usize = 20;

    fn key(from: u8, to: u8) -> FlowKey {
        let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        FlowKey {
            from: address(from),
            to: address(to),
            protocol: TCP,
            ports: [0, from, 0, to],
        }
    }

    /// Returns a TCP packet with a sequence number, an acknowledgement number, flags and a payload of `bytes` bytes.
    fn segment(sequence: u32, acknowledgement: u32, flags: u8, bytes: usize) -> Vec<u8> {
        let mut packet = vec![0; HEADER + TCP_BYTES + bytes];
        packet[HEADER + 4..HEADER + 8].copy_from_slice(&sequence.to_be_bytes());
        packet[HEADER + 8..HEADER + 12].copy_from_slice(&acknowledgement.to_be_bytes());
        packet[HEADER + 12] = 5 << 4;
        packet[HEADER + 13] = flags;
        packet
    }

    #[test]
    fn data_are_counted_to_the_last_ack_without_syn_and_fin() {
        let mut connections = Connections::default();
        let first = u32::MAX - 100;
        let mut enter = |at: u64, flow: FlowKey, packet: &[u8]| connections.enter(Time(at), flow, packet, HEADER);
        enter(1, key(1, 2), &segment(first, 0, SYN, 0));
        enter(2, key(2, 1), &segment(7, first.wrapping_add(1), SYN | ACK, 0));
        enter(3, key(1, 2), &segment(first.wrapping_add(1), 8, ACK, 1000));
        enter(4, key(2, 1), &segment(8, first.wrapping_add(1001), ACK, 0));
        // A duplicate, an older ACK, and the last segment with the FIN.
        enter(5, key(2, 1), &segment(8, first.wrapping_add(1001), ACK, 0));
        enter(6, key(2, 1), &segment(8, first.wrapping_add(501), ACK, 0));
        enter(7, key(1, 2), &segment(first.wrapping_add(1001), 8, ACK | FIN, 500));
        enter(8, key(2, 1), &segment(8, first.wrapping_add(1502), ACK, 0));
        let [own] = connections.with_data()[..] else {
            panic!("one direction has data");
        };
        assert_eq!((own.flow, own.bytes), (key(1, 2), 1500));
        assert_eq!((own.began, own.ended), (Time(2), Time(8)));
    }

    #[test]
    fn segments_that_begin_below_the_highest_sequence_number_sent_are_retransmissions() {
        let mut connections = Connections::default();
        let first = u32::MAX - 1500;
        let mut enter = |flow: FlowKey, packet: &[u8]| connections.enter(Time(1), flow, packet, HEADER);
        let data = |from: u32, flags: u8, bytes: usize| segment(first.wrapping_add(from), 8, ACK | flags, bytes);
        // The SYN is retransmitted once, and the second of three segments twice, once together with new data.
        enter(key(1, 2), &segment(first.wrapping_sub(1), 0, SYN, 0));
        enter(key(1, 2), &segment(first.wrapping_sub(1), 0, SYN, 0));
        for from in [0, 1000, 2000, 1000] {
            enter(key(1, 2), &data(from, 0, 1000));
        }
        enter(key(1, 2), &data(1000, 0, 2500));
        // ACKs without data, keep-alives, and the last segment of new data; then its FIN, twice.
        enter(key(1, 2), &data(3500, 0, 0));
        enter(key(1, 2), &data(3499, 0, 0));
        enter(key(1, 2), &data(3500, 0, 500));
        enter(key(1, 2), &data(4000, FIN, 0));
        enter(key(1, 2), &data(4000, FIN, 0));
        enter(key(2, 1), &segment(8, first.wrapping_add(4001), ACK, 0));
        // A later connection of the same ports begins below the highest sequence number.
        enter(key(1, 2), &segment(first, 0, SYN, 0));
        enter(key(1, 2), &data(1, 0, 1000));
        let found = connections.with_data();
        let counted: Vec<_> = found.iter().map(|own| (own.bytes, own.retransmitted)).collect();
        assert_eq!(counted, [(4000, 4)]);
    }

    #[test]
    fn separately_acknowledged_fin_does_not_count_as_data() {
        let mut connections = Connections::default();
        let mut enter = |at: u64, flow: FlowKey, packet: &[u8]| connections.enter(Time(at), flow, packet, HEADER);
        enter(1, key(2, 1), &segment(0, 100, ACK, 0));
        enter(2, key(2, 1), &segment(0, 200, ACK, 0));
        enter(3, key(1, 2), &segment(200, 0, ACK | FIN, 0));
        enter(4, key(2, 1), &segment(0, 201, ACK, 0));
        let found = connections.with_data();
        assert_eq!(
            found.iter().map(|own| (own.bytes, own.ended)).collect::<Vec<_>>(),
            [(100, Time(2))]
        );
        assert_eq!(connections.all.len(), 2);
    }

    #[test]
    fn a_later_connection_of_the_same_ports_adds_its_data() {
        let mut connections = Connections::default();
        let mut enter = |at: u64, flow: FlowKey, packet: &[u8]| connections.enter(Time(at), flow, packet, HEADER);
        for (at, first) in [(1, 1000), (10, 4_000_000_000)] {
            enter(at, key(1, 2), &segment(first, 0, SYN, 0));
            enter(at + 1, key(2, 1), &segment(0, first + 1, SYN | ACK, 0));
            enter(at + 2, key(2, 1), &segment(1, first + 101, ACK, 0));
        }
        let found = connections.with_data();
        assert_eq!(found.iter().map(|own| own.bytes).collect::<Vec<_>>(), [200]);
    }

    #[test]
    fn other_protocols_and_truncated_headers_are_ignored() {
        let mut connections = Connections::default();
        connections.enter(
            Time(1),
            FlowKey {
                protocol: 17,
                ..key(1, 2)
            },
            &segment(0, 1, ACK, 0),
            HEADER,
        );
        connections.enter(Time(1), key(1, 2), &segment(0, 1, ACK, 0)[..HEADER + 10], HEADER);
        assert!(connections.all.is_empty());
    }
}
