use super::*;
use crate::packets::Circuit;
use proptest::prelude::*;

proptest! {
    #[test]
    fn packet_contents_are_preserved(
        sequence in any::<u64>(),
        length in 0u32..65_000,
        stamp in prop::option::of(any::<u64>().prop_map(Time)),
        clock in prop::option::of(any::<u32>().prop_map(|clock| Time(clock.into()))),
        ends in prop::array::uniform3(0u32..100),
        [request, capable, marked, reduced] in any::<[bool; 4]>(),
        ace in 0u8..8,
        counts in prop::option::of(any::<[u32; 2]>()),
        window in any::<u32>(),
        opening in prop::sample::select(vec![Opening::Over, Opening::Syn(8), Opening::Syn(20), Opening::Ack]),
        push in any::<bool>(),
    ) {
        let blocks = ends.map(|end| SackBlock::new(end / 2, end));
        let blocks = if !blocks[0].is_some() { Default::default() } else { blocks };
        let counts = counts.map_or(ByteCounts::NONE, |[unmarked, marked]| ByteCounts::new(unmarked.into(), marked.into()));
        let data = DataSegment { sequence, length, retransmission: request, timestamp: stamp.into(), ecn: Ecn { capable, marked, reduced }, opening, push };
        let ack = AckSegment { acknowledgement: sequence, echo: stamp.into(), blocks, ace, clock: clock.into(), opening, counts, window };
        let mark = if request { REQUEST } else { 0 };
        let mut options = Options::default();
        let packet = Packet::new(Circuit(u32::from(request)), mark, 7, &data, &mut options).further();
        prop_assert_eq!(packet.contents(&options), Contents::Data(data));
        let is_alone = !(request | marked | reduced | push) && opening == Opening::Over;
        prop_assert_eq!(packet.is_stamped_data(), is_alone && stamp.is_some());
        prop_assert_eq!((u32::from(packet.bytes()), packet.step()), (data.packet_bytes(), 8));
        let packet = Packet::new(Circuit(u32::from(!request)), mark, 7, &ack, &mut options);
        prop_assert_eq!(packet.contents(&options), Contents::Ack(ack));
        prop_assert_eq!((u32::from(packet.bytes()), packet.frame()), (ack.packet_bytes(), mark));
        let datagram = Datagram { sent: Time(sequence), length };
        let packet = Packet::new(Circuit(4), 1, 7, &datagram, &mut options);
        prop_assert_eq!(packet.contents(&options), Contents::Datagram(datagram));
        prop_assert!(packet.has_extras() && !packet.is_data_without_options());
    }
}

#[test]
fn a_packet_on_a_wire_takes_32_bytes() {
    assert_eq!(size_of::<OnWire>(), 32);
}
