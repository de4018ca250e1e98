//! Numbers of cells or packets of each VC in the queue of each switch port, sampled at regular intervals.

use crate::observe::recorder::{permute, sorted};
use crate::packets::Link;
use longpipe_events::memory::Growing;
use longpipe_events::{Ring, Time};

/// A copy of one port's queue that stores only departure times.
#[derive(Clone, Debug, Default)]
struct PortQueue {
    /// Departure time of each queued cell, and the position of its VC in `vcs`.
    cells: Ring<(Time, u32)>,
    /// VCs that have had a cell queued at this port: the VC number, the number of queued cells, and the number of
    /// queued cells at the last sample.
    vcs: Vec<(u32, u32, u32)>,
    /// Number of the next sample.
    next: u64,
}

/// Samples of all ports. A row is stored only if the number of a VC's cells differs from that at the previous sample.
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
    /// Number of the VC's cells in the queue.
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

    /// Records that a cell or packet was admitted to the queue of a port.
    pub fn admit(&mut self, link: Link, arrival: Time, departure: Time, vc: u32) {
        self.sample(link, arrival);
        let port = &mut self.ports[link.index()];
        // A linear search suffices, because few VCs cross a port that is traced per VC.
        let position = port.vcs.iter().position(|known| known.0 == vc).unwrap_or_else(|| {
            port.vcs.push((vc, 0, 0));
            port.vcs.len() - 1
        });
        port.vcs[position].1 += 1;
        port.cells.push((departure, position as u32));
    }

    /// Takes the samples that remain until the end of the run, and sorts all rows by time and port.
    pub fn finish(&mut self, end: Time) {
        (0..self.ports.len()).for_each(|port| self.sample(Link::new(port), end));
        let order = sorted(self.time.len(), &|row| (self.time[row], self.port[row], 0, 0));
        permute(&order, &mut self.time);
        permute(&order, &mut self.port);
        permute(&order, &mut self.vc);
        permute(&order, &mut self.held);
    }

    /// Takes the samples of a port up to `now`.
    fn sample(&mut self, link: Link, now: Time) {
        let port = &mut self.ports[link.index()];
        while port.next * self.interval <= now.0 {
            let instant = port.next * self.interval;
            while let Some(&(_, position)) = port.cells.first().filter(|(departure, _)| departure.0 <= instant) {
                port.vcs[position as usize].1 -= 1;
                port.cells.pop();
            }
            for (vc, held, sampled) in &mut port.vcs {
                if held != sampled {
                    *sampled = *held;
                    self.time.put(instant);
                    self.port.put(link.0);
                    self.vc.put(*vc);
                    self.held.put(*held);
                }
            }
            port.next = if port.cells.is_empty() {
                now.0 / self.interval + 1
            } else {
                port.next + 1
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_the_cells_in_the_queue() {
        let mut queues = VcQueues::new(10, 1);
        for (arrival, departure, vc) in [(1, 5, 0), (2, 12, 0), (3, 14, 2), (12, 22, 2), (45, 50, 0)] {
            queues.admit(Link(0), Time(arrival), Time(departure), vc);
        }
        queues.finish(Time(60));
        let rows: Vec<(u64, u32, u32)> = (0..queues.time.len())
            .map(|row| (queues.time[row], queues.vc[row], queues.held[row]))
            .collect();
        assert_eq!(rows, [(10, 0, 1), (10, 2, 1), (20, 0, 0), (30, 2, 0)]);
    }
}
