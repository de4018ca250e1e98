//! Packets lost because of lost cells: each packet is reported once, with the cause of its first lost cell.

use super::aal5::Cell;
use super::Atm;
use crate::drops::{DropCause, Dropped};
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::observe::watch::contents;
use crate::packets::contents::Contents;
use crate::packets::in_transit::REQUEST;
use crate::packets::{Circuit, Link};
use longpipe_events::Time;
use longpipe_tcp::segment::Opening;
use std::collections::BTreeSet;

/// By VC of a flow: frames that have lost a cell and whose end the host has not received; empty until the first loss.
#[derive(Clone, Debug, Default)]
pub(crate) struct LostFrames(Vec<BTreeSet<u32>>);

impl LostFrames {
    /// Records that a frame lost a cell. Returns whether it is the frame's first loss.
    pub(super) fn insert(&mut self, vc: Circuit, frame: u32) -> bool {
        if self.0.len() <= vc.index() {
            self.0.resize_with(vc.index() + 1, BTreeSet::new);
        }
        self.0[vc.index()].insert(frame)
    }

    /// Records that the last cell of a frame reached the host, so that earlier frames of its VC will not. Returns
    /// whether the frame had lost a cell.
    pub(super) fn pass(&mut self, vc: Circuit, frame: u32) -> bool {
        let Some(frames) = self.0.get_mut(vc.index()).filter(|frames| !frames.is_empty()) else {
            return false;
        };
        let had_lost = frames.contains(&frame);
        *frames = frames.split_off(&frame);
        had_lost
    }
}

impl Atm {
    /// Records the loss of a cell at the port of a link or on its wire, at a time that may lie in the future.
    #[cold]
    #[inline(never)]
    pub(super) fn lose_cell<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        link: Link,
        cell: &Cell,
        (time, cause): (Time, DropCause),
    ) {
        let is_packet = cell.vc.index() < self.reassemblers.len();
        if is_packet && self.lost_frames.insert(cell.vc, cell.frame) {
            report(hosts, link, cell, time, cause);
        }
    }

    /// Records that the last cell of a frame reached its host, which discards the frame unless it is `whole`.
    pub(super) fn end_frame<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, at: Time, cell: &Cell, whole: bool) {
        let had_lost = self.lost_frames.pass(cell.vc, cell.frame);
        if !(whole || had_lost) {
            report(hosts, link, cell, at, DropCause::PartialFrame);
        }
    }
}

fn report<P: Probe>(hosts: &mut Hosts<P>, link: Link, cell: &Cell, time: Time, cause: DropCause) {
    let flow = cell.vc.flow();
    let of_sender =
        hosts.flows[flow.index()].application.external().is_none() && !cell.vc.is_back() && cell.frame & REQUEST == 0;
    let sequence = match of_sender.then(|| contents(&hosts.flows, cell.vc, cell.frame)) {
        Some(Contents::Data(segment)) if segment.opening == Opening::Over => Some(segment.sequence),
        _ => None,
    };
    hosts.report_loss(&Dropped {
        time,
        link,
        flow,
        sequence,
        cause,
    });
}
