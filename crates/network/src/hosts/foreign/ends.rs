//! Where packets of programs outside enter the run and leave it.

use super::{Fate, ForeignPacket, Outcome};
use crate::drops::DropCause;
use crate::hosts::Hosts;
use crate::medium::Medium;
use crate::observe::probe::Probe;
use crate::packets::{Circuit, Packet};

/// A packet of a program outside is handed to the interface at the start of a foreign flow's circuit, now.
pub(crate) fn enter<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, vc: Circuit, packet: ForeignPacket) {
    let travels = medium.travels(vc);
    let Some(foreign) = &mut hosts.flows[vc.flow().index()].foreign else {
        unreachable!("packets of programs outside take foreign circuits")
    };
    let frame = foreign.number(vc, travels, packet);
    medium.send_off(hosts, vc, frame, &packet);
}

/// Such a packet has reached its host.
pub(in crate::hosts) fn hand_over<P: Probe>(hosts: &mut Hosts<P>, packet: Packet) {
    let time = hosts.clock.now;
    let foreign = hosts.flows[packet.vc().flow().index()].foreign.as_mut();
    let lost = foreign.map(|foreign| foreign.take_lost(packet.vc()));
    let fate = Fate::Lost {
        link: None,
        cause: DropCause::PartialFrame,
    };
    let lost = lost.into_iter().flatten().map(|id| Outcome { time, id, fate });
    hosts.outcomes.extend(lost);
    hosts.outcomes.push(Outcome {
        time,
        id: packet.sequence(),
        fate: Fate::Delivered {
            marked: packet.is_marked(),
        },
    });
}
