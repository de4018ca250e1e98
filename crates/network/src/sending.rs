//! Packets leave their hosts.

use crate::aal5::frame_cells;
use crate::ip::packet::Payload;
use crate::ip::Packet;
use crate::link::Feed;
use crate::nic::Frame;
use crate::probe::Probe;
use crate::scenario::Framing;
use crate::simulation::Simulation;
use crate::topology::Entry;

impl<P: Probe> Simulation<P> {
    /// Hands a packet to the interface at the start of its circuit.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, vc: u32, frame: u32, payload: &impl Payload) {
        if self.framing == Framing::Ip {
            return self.enqueue_packet(vc, frame, payload);
        }
        let Entry { link, step } = self.flows[(vc / 2) as usize].entry(vc);
        let packet = Packet::new(vc, frame, step, payload, &mut self.options);
        self.send_frame(link, packet);
    }

    /// Hands a packet to its host's interface as a frame.
    #[inline(always)]
    pub(crate) fn send_frame(&mut self, link: u32, packet: Packet) {
        let (vc, link) = (packet.vc(), link as usize);
        let by_edges = self.by_edges[vc as usize];
        let ready = self.ready(link);
        let Feed::Nic(nic) = &mut self.links[link].feed else {
            unreachable!("circuits begin at hosts")
        };
        let cells = frame_cells(u32::from(packet.bytes()));
        let Some(accepted) = nic.accept(cells, ready) else {
            return;
        };
        let lead = nic.lead;
        if by_edges & accepted.soon {
            nic.send(cells);
            if !vc.is_multiple_of(2) && self.is_certain_frame(lead, accepted.last) {
                self.certain_frame = Some(Frame::new(packet, cells, accepted, true));
                return;
            }
            self.under_way.keep_options(&packet, &self.options);
            return self.announce(packet, cells, accepted);
        }
        self.wait_at_host(link, Frame::new(packet, cells, accepted, by_edges));
    }

    /// A frame waits for its turn at its host's interface.
    #[inline(never)]
    fn wait_at_host(&mut self, link: usize, frame: Frame) {
        if frame.by_edges {
            self.under_way.keep_options(&frame.packet, &self.options);
            self.under_way.astray += u64::from(frame.packet.vc() % 2);
        }
        if let Feed::Nic(nic) = &mut self.links[link].feed {
            if nic.wait(frame) {
                self.schedule(link);
            }
        }
    }

    /// Whether what a circuit's packets carry travels with them.
    #[inline(always)]
    pub(crate) fn travels(&self, vc: usize) -> bool {
        self.framing == Framing::Ip || self.by_edges[vc]
    }
}
