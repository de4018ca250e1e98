//! Entry and exit of external packets.

use crate::hosts::medium::Medium;
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::packets::drops::DropCause;
use crate::packets::external::{ExternalPacket, Fate, Outcome};
use crate::packets::{Circuit, Packet};

/// Passes an external packet, at the current time, to the interface at the start of its flow's circuit.
pub(crate) fn enter<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, vc: Circuit, packet: ExternalPacket) {
    let travels = medium.travels(vc);
    let Some(external) = hosts.flows[vc.flow().index()].application.try_as_external_mut() else {
        unreachable!("external packets take circuits of external flows")
    };
    let frame = external.number(vc, travels, packet);
    medium.send_unsolicited(hosts, vc, frame, &packet);
}

/// Records that an external packet has reached its host.
pub(in crate::hosts) fn deliver<P: Probe>(hosts: &mut Hosts<P>, packet: Packet) {
    let time = hosts.clock.now;
    let external = hosts.flows[packet.vc().flow().index()]
        .application
        .try_as_external_mut();
    let lost = external.map(|external| external.take_lost(packet.vc()));
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
