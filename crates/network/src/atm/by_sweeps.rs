//! Event handling of sweep ports: accepts frames from hosts, and delivers completed ones.

use super::aal5::frame_cells;
use super::interface::ScheduledFrame;
use super::Atm;
use crate::clock::{Actor, CELL, UNKNOWN};
use crate::drops::DropCause;
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::packets::{Options, Packet};
use longpipe_events::Time;

/// Accepts a frame with assigned slots, whose first cell arrives downstream at `first`.
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

/// Lets a port process the arrivals that are known by now.
pub(super) fn sweep<P: Probe>(atm: &mut Atm, hosts: &mut Hosts<P>, port: u32) {
    atm.sweeps.process(port, hosts.clock.now, hosts.clock.end);
    if atm.sweeps.have_lost() {
        for (lost, packet) in atm.sweeps.take_lost() {
            if atm.lost_frames.insert(lost.vc, lost.frame) {
                hosts.lose(lost.time, lost.link, &packet, lost.cause);
            }
        }
    }
    let mut number = 0;
    while let Some(done) = atm.sweeps.done(number) {
        number += 1;
        let cells = |packet: Packet| frame_cells(u32::from(packet.bytes()));
        let mut options = Options::NONE;
        // Earlier frames without a lost cell were merged with a frame that lost its last cell.
        let mut merged = Vec::new();
        let mut note = |frame, packet| merged.push((frame, packet));
        if let Some(packet) = atm.sweeps.take(&done, cells, &mut options, &mut note) {
            for (frame, earlier) in merged {
                if !atm.lost_frames.pass(done.vc, frame) {
                    hosts.lose(done.at, done.link, &earlier, DropCause::PartialFrame);
                }
            }
            atm.pass_on(hosts, done.link, (packet, done.at), &options, UNKNOWN);
        }
    }
    if let Some(at) = atm.sweeps.next_processing(port) {
        hosts.clock.set(Actor::Port(port as usize), at, CELL);
    }
}
