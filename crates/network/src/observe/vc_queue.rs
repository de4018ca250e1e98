//! Numbers of cells or packets of each VC in the queue of each switch port, sampled at regular intervals.

use crate::observe::recorder::{permute, sorted};
use crate::packets::Link;
use longpipe_events::memory::{self, Growing};
use longpipe_events::Time;
use std::collections::BTreeMap;

/// VC of which a cell has been queued at a port.
#[derive(Clone, Copy, Debug)]
struct QueuedVc {
    vc: u32,
    /// Earliest arrival of a cell of the VC that entered the queue.
    first: Time,
}

/// Changes of one port's queue from sample to sample. Cells may be added in any order, because disciplines that do not
/// serve cells in the order of arrival report them when they leave.
#[derive(Clone, Debug, Default)]
struct PortQueue {
    /// Change of the number of queued cells at a sample. The key is the number of the sample, and the position of the
    /// VC in `vcs`.
    changes: BTreeMap<(u64, u32), i32>,
    /// Number of changes whose memory is counted.
    counted: usize,
    vcs: Vec<QueuedVc>,
}

/// Samples of all ports. A row is stored only if the number of cells of a VC differs from the previous sample.
#[derive(Clone, Debug, Default)]
pub struct VcQueues {
    /// Sampling interval [ps].
    interval: u64,
    ports: Vec<PortQueue>,
    /// Time of the sample [ps].
    pub time: Vec<u64>,
    /// Link index.
    pub port: Vec<u32>,
    /// Index of the VC.
    pub vc: Vec<u32>,
    /// Cells of the VC in the queue.
    pub held: Vec<u32>,
}

impl VcQueues {
    /// Returns a sampler that takes a sample at time 0 and then every `interval` picoseconds.
    pub fn new(interval: u64, links: usize) -> VcQueues {
        VcQueues {
            interval: interval.max(1),
            ports: vec![PortQueue::default(); links],
            ..VcQueues::default()
        }
    }

    /// Adds a cell or packet that is in the queue of a port from `arrival` until it leaves or is dropped at
    /// `departure`. For a packet that still waits at the end of the run, `departure` is later than the last sample.
    pub fn add(&mut self, link: Link, arrival: Time, departure: Time, vc: u32) {
        self.ports[link.index()].hold(self.interval, arrival, departure, vc);
    }

    /// Takes the samples up to the end of the run, and sorts all rows by time and port.
    pub fn finish(&mut self, end: Time) {
        for (index, port) in std::mem::take(&mut self.ports).into_iter().enumerate() {
            let ranks = port.ranks();
            let mut changes: Vec<_> = port.changes.into_iter().collect();
            changes.sort_by_key(|&((sample, position), _)| (sample, ranks[position as usize]));
            let mut held = vec![0; port.vcs.len()];
            for ((sample, position), change) in changes {
                let instant = sample * self.interval;
                if change == 0 || instant > end.0 {
                    continue;
                }
                let of_vc: &mut i32 = &mut held[position as usize];
                *of_vc += change;
                self.time.put(instant);
                self.port.put(index as u32);
                self.vc.put(port.vcs[position as usize].vc);
                self.held.put(*of_vc as u32);
            }
        }
        let order = sorted(self.time.len(), &|row| (self.time[row], self.port[row], 0, 0));
        permute(&order, &mut self.time);
        permute(&order, &mut self.port);
        permute(&order, &mut self.vc);
        permute(&order, &mut self.held);
    }
}

impl PortQueue {
    /// Counts a cell at the samples after `arrival` and before `end`.
    fn hold(&mut self, interval: u64, arrival: Time, end: Time, vc: u32) {
        // A packet that is dropped on arrival must not affect the order of VCs, because some ports do not report it.
        if arrival == end {
            return;
        }
        // A linear search suffices, because few VCs cross a port that is traced per VC.
        let position = self.vcs.iter().position(|waiting| waiting.vc == vc).unwrap_or_else(|| {
            self.vcs.push(QueuedVc { vc, first: arrival });
            self.vcs.len() - 1
        });
        let waiting = &mut self.vcs[position];
        waiting.first = waiting.first.min(arrival);
        let (first, last) = (arrival.0 / interval + 1, end.0.div_ceil(interval));
        if first < last {
            self.change(first, position, 1);
            self.change(last, position, -1);
        }
    }

    /// Adds to the change at a sample, and counts the memory of all changes whenever their number doubles.
    fn change(&mut self, sample: u64, position: usize, by: i32) {
        *self.changes.entry((sample, position as u32)).or_default() += by;
        if self.changes.len() > self.counted {
            let counted = (2 * self.counted).max(16);
            memory::take(memory::bytes::<((u64, u32), i32)>(counted - self.counted));
            self.counted = counted;
        }
    }

    /// Returns for each VC its rank in the order of first arrivals. VCs with simultaneous ones are in the order of their
    /// numbers, because the engines may add them in different orders.
    fn ranks(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.vcs.len()).collect();
        order.sort_by_key(|&position| (self.vcs[position].first, self.vcs[position].vc));
        let mut ranks = vec![0; order.len()];
        for (rank, position) in order.into_iter().enumerate() {
            ranks[position] = rank;
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_the_cells_in_the_queue() {
        let mut queues = VcQueues::new(10, 1);
        for (arrival, departure, vc) in [(1, 5, 0), (2, 12, 0), (3, 14, 2), (12, 22, 2), (45, 50, 0)] {
            queues.add(Link(0), Time(arrival), Time(departure), vc);
        }
        queues.finish(Time(60));
        let rows: Vec<(u64, u32, u32)> = (0..queues.time.len())
            .map(|row| (queues.time[row], queues.vc[row], queues.held[row]))
            .collect();
        assert_eq!(rows, [(10, 0, 1), (10, 2, 1), (20, 0, 0), (30, 2, 0)]);
    }

    #[test]
    fn the_order_in_which_cells_are_added_does_not_matter() {
        let cells = [(1, 25, 0), (2, 12, 1), (3, 45, 0), (4, 33, 1)];
        let sampled = |order: [usize; 4]| {
            let mut queues = VcQueues::new(10, 1);
            for (arrival, departure, vc) in order.map(|index| cells[index]) {
                queues.add(Link(0), Time(arrival), Time(departure), vc);
            }
            queues.finish(Time(40));
            let mut rows: Vec<_> = (0..queues.time.len())
                .map(|row| (queues.time[row], queues.vc[row], queues.held[row]))
                .collect();
            rows.sort_unstable();
            rows
        };
        let rows = [(10, 0, 2), (10, 1, 2), (20, 1, 1), (30, 0, 1), (40, 1, 0)];
        assert_eq!(sampled([0, 1, 2, 3]), rows);
        assert_eq!(sampled([3, 1, 2, 0]), rows);
    }
}
