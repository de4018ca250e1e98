//! Packets lost because of lost cells: each packet is reported once. Its sender attributes the loss to the cell that
//! was lost first, whichever cell is reported first.

use super::Atm;
use crate::hosts::transmissions::contents;
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::packets::aal5::Cell;
use crate::packets::contents::Contents;
use crate::packets::drops::{DropCause, Dropped, LostData};
use crate::packets::in_transit::REQUEST;
use crate::packets::{Circuit, Link};
use longpipe_events::Time;
use longpipe_tcp::segment::Opening;
use std::collections::btree_map::{BTreeMap, Entry};

/// For each VC of a flow, the frames that have lost a cell and whose end the host has not received, each with its
/// earliest loss. Empty until the first loss.
#[derive(Clone, Debug, Default)]
pub(crate) struct LostFrames(Vec<BTreeMap<u32, (Time, DropCause)>>);

/// Position of a lost cell among the known losses of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellLoss {
    /// The first loss that is reported.
    First,
    /// Earlier than the losses reported before.
    Earlier,
    /// Not earlier than a loss reported before.
    Later,
}

impl LostFrames {
    /// Records that a frame lost a cell.
    pub(super) fn insert(&mut self, vc: Circuit, frame: u32, loss: (Time, DropCause)) -> CellLoss {
        if self.0.len() <= vc.index() {
            self.0.resize_with(vc.index() + 1, BTreeMap::new);
        }
        let key = |(time, cause): (Time, DropCause)| (time, cause as u8);
        match self.0[vc.index()].entry(frame) {
            Entry::Vacant(place) => {
                place.insert(loss);
                CellLoss::First
            }
            Entry::Occupied(mut earliest) if key(loss) < key(*earliest.get()) => {
                earliest.insert(loss);
                CellLoss::Earlier
            }
            Entry::Occupied(_) => CellLoss::Later,
        }
    }

    /// Records that the last cell of a frame reached the host, so that no earlier frame of its VC can arrive any more.
    /// Returns whether the frame had lost a cell.
    pub(super) fn pass(&mut self, vc: Circuit, frame: u32) -> bool {
        let Some(frames) = self.0.get_mut(vc.index()).filter(|frames| !frames.is_empty()) else {
            return false;
        };
        let had_lost = frames.contains_key(&frame);
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
        if cell.vc.index() >= self.reassemblers.len() {
            return;
        }
        let dropped = || dropped(hosts, link, cell, time, cause);
        match self.lost_frames.insert(cell.vc, cell.frame, (time, cause)) {
            CellLoss::First => hosts.report_loss(&dropped(), u64::from(cell.frame)),
            CellLoss::Earlier => hosts.note_loss(&dropped(), u64::from(cell.frame)),
            CellLoss::Later => {}
        }
    }

    /// Records that the last cell of a frame reached its host. The host discards the frame unless it is `whole`.
    pub(super) fn end_frame<P: Probe>(&mut self, hosts: &mut Hosts<P>, link: Link, at: Time, cell: &Cell, whole: bool) {
        let had_lost = self.lost_frames.pass(cell.vc, cell.frame);
        if !(whole || had_lost) {
            let dropped = dropped(hosts, link, cell, at, DropCause::PartialFrame);
            hosts.report_loss(&dropped, u64::from(cell.frame));
        }
    }
}

fn dropped<P: Probe>(hosts: &Hosts<P>, link: Link, cell: &Cell, time: Time, cause: DropCause) -> Dropped {
    let flow = cell.vc.flow();
    let of_sender = hosts.flows[flow.index()].application.try_as_external_ref().is_none()
        && !cell.vc.is_back()
        && cell.frame & REQUEST == 0;
    let data = match of_sender.then(|| contents(&hosts.flows, cell.vc, cell.frame)) {
        Some(Contents::Data(segment)) if segment.opening == Opening::Over => Some(LostData {
            sequence: segment.sequence,
            length: segment.length,
        }),
        _ => None,
    };
    Dropped {
        time,
        link,
        flow,
        data,
        cause,
    }
}
