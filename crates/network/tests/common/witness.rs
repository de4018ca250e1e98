//! Record of the packets that end points send and receive.

use longpipe_events::Time;
use longpipe_network::observe::probe::Event;
use longpipe_network::{Circuit, ExternalPacket, Flow, Probe, REQUEST};

/// Index of a circuit, and number of a packet on this circuit.
pub type Name = (u32, u32);

/// Packets that end points have sent and received.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    pub sent: Vec<(Time, Name, ExternalPacket)>,
    pub got: Vec<(Time, Name, bool)>,
}

impl Witness {
    fn sends(&mut self, now: Time, name: Name, bytes: u32, capable: bool) {
        let packet = ExternalPacket {
            id: self.sent.len() as u64,
            bytes: bytes as u16,
            capable,
            scalable: false,
            marked: false,
        };
        self.sent.push((now, name, packet));
    }
}

/// Returns the circuit of a packet. Requests travel in the opposite direction of their flow's data.
fn circuit(flow: Flow, frame: u32, data: bool) -> u32 {
    2 * flow.0 + u32::from((frame & REQUEST == 0) != data)
}

impl Probe for Witness {
    fn observe(&mut self, event: Event<'_>) {
        match event {
            Event::Sent(now, flow, frame, segment) => {
                let name = (circuit(flow, frame, true), frame);
                self.sends(now, name, segment.packet_bytes(), segment.ecn.capable);
            }
            Event::Answered(now, flow, frame, ack) => {
                self.sends(now, (circuit(flow, frame, false), frame), ack.packet_bytes(), false);
            }
            Event::SentDatagram(now, flow, frame, datagram) => {
                self.sends(now, (Circuit::of_data(flow).0, frame), datagram.packet_bytes(), false);
            }
            Event::Received(now, flow, frame, segment) => {
                let name = (circuit(flow, frame, true), frame);
                self.got.push((now, name, segment.ecn.marked));
            }
            Event::ReceivedDatagram(now, flow, frame, ..) => {
                self.got.push((now, (Circuit::of_data(flow).0, frame), false));
            }
            Event::Acknowledged(now, flow, frame, _) => {
                self.got.push((now, (circuit(flow, frame, false), frame), false));
            }
            _ => {}
        }
    }
}
