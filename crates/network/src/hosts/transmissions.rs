//! Reports to probes about cells and packets in transit.

use crate::hosts::connection::Connection;
use crate::observe::probe::{Detail, Event, Probe, Slot};
use crate::packets::aal5::Cell;
use crate::packets::contents::{Contents, External};
use crate::packets::in_transit::REQUEST;
use crate::packets::{Circuit, Link, Options, Packet};
use longpipe_events::Time;

/// Returns the packet that a frame carries.
pub(crate) fn contents(flows: &[Connection], vc: Circuit, frame: u32) -> Contents {
    let (flow, on_data_circuit) = (&flows[vc.flow().index()], !vc.is_back());
    match flow.application.try_as_requests_ref() {
        Some(requests) if frame & REQUEST != 0 => {
            if on_data_circuit {
                Contents::Ack(*requests.acks.get(frame & !REQUEST))
            } else {
                Contents::Data(*requests.segments.get(frame & !REQUEST))
            }
        }
        _ if flow.application.try_as_datagrams_ref().is_some() => datagram(flow, frame),
        _ if flow.application.try_as_external_ref().is_some() => external(flow, vc, frame),
        _ if on_data_circuit => Contents::Data(*flow.data.get(frame)),
        _ => Contents::Ack(*flow.acks.get(frame)),
    }
}

#[cold]
fn datagram(flow: &Connection, frame: u32) -> Contents {
    let sent = flow
        .application
        .try_as_datagrams_ref()
        .map(|datagrams| *datagrams.get(frame));
    Contents::Datagram(sent.unwrap_or_default())
}

#[cold]
fn external(flow: &Connection, vc: Circuit, frame: u32) -> Contents {
    let packet = flow
        .application
        .try_as_external_ref()
        .map(|packets| *packets.get(vc, frame));
    let packet = packet.unwrap_or_default();
    Contents::External(External {
        id: packet.id,
        bytes: u32::from(packet.bytes),
        marked: packet.marked,
    })
}

/// Reports the transmission of a cell on a link.
#[inline(always)]
pub(crate) fn cell<P: Probe>(
    probe: &mut P,
    flows: &[Connection],
    link: Link,
    arrival: Option<Time>,
    departure: Time,
    cell: Cell,
) {
    if cell.vc.index() < Circuit::of_flows(flows.len()) && probe.wants(Detail::Cells) {
        let slot = Slot {
            link,
            arrival,
            departure,
        };
        probe.observe(Event::Cell(slot, &cell, &|| contents(flows, cell.vc, cell.frame)));
    }
}

/// Reports that a cell waits at a switch's port from `arrival` until it is dropped at `dropped`.
#[cold]
#[inline(never)]
pub(crate) fn dropped_cell<P: Probe>(
    probe: &mut P,
    flows: &[Connection],
    link: Link,
    arrival: Time,
    dropped: Time,
    cell: Cell,
) {
    if cell.vc.index() < Circuit::of_flows(flows.len()) && arrival < dropped {
        probe.observe(Event::Waited {
            link,
            arrival,
            end: dropped,
            vc: cell.vc,
        });
    }
}

/// Reports the transmission of a packet on a link.
#[inline(always)]
pub(crate) fn packet<P: Probe>(
    probe: &mut P,
    link: Link,
    arrival: Option<Time>,
    departure: Time,
    packet: Packet,
    options: &Options,
) {
    if !probe.is_idle() {
        let slot = Slot {
            link,
            arrival,
            departure,
        };
        probe.observe(Event::Packet(slot, packet.vc(), packet.frame(), &|| {
            packet.contents(options)
        }));
    }
}
