//! Tests of the headers' lengths and checksums.

use super::*;

#[test]
fn the_worked_example_of_rfc_1071() {
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(checksum(sum(&bytes)), !0xddf2);
}

fn connection() -> ConnectionHeaders {
    ConnectionHeaders {
        ends: [(1, 1024), (2, 9)].map(|(address, port)| EndPoint { address, port }),
        opener: 0,
        mss: 524,
        unscaled: 65_535,
        window: 32_768,
        scale: 1,
        sack: true,
        timestamps: true,
        marks: EcnConfig::Classic { abe: false },
        scalable: false,
        opens: false,
    }
}

/// Returns whether both checksums of a packet, including its all-zero payload, are correct.
fn adds_up(packet: &[u8]) -> bool {
    let total = u32::from(u16::from_be_bytes([packet[2], packet[3]]));
    let pseudo = sum(&packet[12..20]) + u32::from(TCP) + total - IP_HEADER_BYTES;
    checksum(sum(&packet[..20])) == 0 && checksum(pseudo + sum(&packet[20..])) == 0
}

#[test]
fn headers_have_the_simulated_length_and_valid_checksums() {
    let connection = connection();
    let carried = Carried {
        stamp: 7,
        echo: 5,
        other: 1,
    };
    let segment = DataSegment {
        sequence: (1 << 32) - 1,
        length: 511,
        retransmission: false,
        timestamp: Time(7).into(),
        ..DataSegment::default()
    };
    let mut out = Vec::new();
    connection.data(0, 65_535, &segment, carried, &mut out);
    assert_eq!(out.len() as u32 + segment.length, segment.packet_bytes());
    assert_eq!(out[4..6], [0, 1]);
    assert_eq!(out[24..28], [0; 4], "sequence numbers wrap");
    assert!(adds_up(&out));
    let mut ack = AckSegment {
        acknowledgement: 1_000,
        echo: Time(7).into(),
        ..AckSegment::default()
    };
    for blocks in 0..=3 {
        if blocks > 0 {
            ack.blocks[blocks - 1] = longpipe_tcp::SackBlock::new(512, 1024);
        }
        out.clear();
        connection.ack(1, 0, &ack, carried, &mut out);
        assert_eq!(out.len() as u32, ack.packet_bytes());
        assert!(adds_up(&out));
    }
    // The option has three counters, or two if two SACK blocks leave no room for the third counter.
    ack.counts = longpipe_tcp::ByteCounts::new(513, 0x100_0002);
    let expected = [([172, 11], 12), ([172, 11], 12), ([172, 8], 8)];
    for (blocks, (begins, length)) in expected.into_iter().enumerate() {
        ack.blocks = Default::default();
        ack.blocks[..blocks].fill(longpipe_tcp::SackBlock::new(512, 1024));
        out.clear();
        connection.ack(1, 0, &ack, carried, &mut out);
        assert_eq!(out.len() as u32, ack.packet_bytes());
        assert!(adds_up(&out));
        let option = &out[out.len() - length..];
        assert_eq!(option[..8], [begins[0], begins[1], 0, 2, 1, 0, 0, 2]);
        assert!(length == 8 || option[8..] == [0, 0, 1, 1]);
    }
    for packet in [Handshake::Syn, Handshake::SynAck, Handshake::Ack] {
        out.clear();
        connection.handshake(packet, (0, 0), 0, &mut out);
        assert!(adds_up(&out));
    }
}
