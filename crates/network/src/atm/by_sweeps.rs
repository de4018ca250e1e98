//! Event handling of sweep ports: accepts frames from hosts, and delivers completed frames.

use super::interface::ScheduledFrame;
use super::Atm;
use crate::clock::{Actor, CELL, UNKNOWN};
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::packets::aal5::frame_cells;
use crate::packets::drops::{DropCause, Dropped};
use crate::packets::{Options, Packet};
use longpipe_events::Time;

/// Accepts a frame whose slots are assigned, and whose first cell arrives downstream at `first`.
pub(super) fn send<P: Probe>(
    atm: &mut Atm,
    hosts: &mut Hosts<P>,
    frame: ScheduledFrame,
    first: Time,
    options: &Options,
) {
    if let Some((port, at)) = atm.sweeps.send(&frame, first, options) {
        hosts.clock.set(Actor::Port(port as usize), at, CELL);
    }
}

/// Makes a port process the arrivals that are known by now.
pub(super) fn sweep<P: Probe>(atm: &mut Atm, hosts: &mut Hosts<P>, port: u32) {
    atm.sweeps.process(port, hosts.clock.now, hosts.clock.end);
    report_lost(atm, hosts);
    let mut number = 0;
    while let Some(done) = atm.sweeps.done(number) {
        number += 1;
        let cells = |packet: Packet| frame_cells(u32::from(packet.bytes()));
        let mut options = Options::NONE;
        let had_lost = atm.lost_frames.pass(done.vc, done.frame);
        if let Some(packet) = atm.sweeps.take(&done, cells, &mut options) {
            atm.pass_on(hosts, done.link, (packet, done.at), &options, UNKNOWN);
        } else if let (false, Some(packet)) = (had_lost, atm.sweeps.packet(done.vc, done.frame)) {
            // The frame was merged with an earlier frame that lost its last cell. The host discards it when its last
            // cell arrives.
            let (link, _, at) = atm.cross_transit(done.link, packet, done.at);
            let dropped = Dropped::new(at, link, &packet, DropCause::PartialFrame);
            hosts.report_loss(&dropped, u64::from(packet.frame()));
        }
    }
    if let Some(at) = atm.sweeps.next_processing(port) {
        hosts.clock.set(Actor::Port(port as usize), at, CELL);
    }
}

/// Processes all arrivals up to the end of the run, and reports the cells that are lost.
pub(super) fn finish<P: Probe>(atm: &mut Atm, hosts: &mut Hosts<P>) {
    atm.sweeps.finish(hosts.clock.end);
    report_lost(atm, hosts);
}

fn report_lost<P: Probe>(atm: &mut Atm, hosts: &mut Hosts<P>) {
    if atm.sweeps.have_lost() {
        for (lost, packet) in atm.sweeps.take_lost() {
            atm.lose_cell_of(hosts, &packet, lost.frame, (lost.link, lost.time, lost.cause));
        }
    }
}
