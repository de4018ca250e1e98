//! CAKE: a shaper, DiffServ tins, and per-host and per-flow fair queueing with COBALT in one discipline. It follows
//! Linux's `sch_cake.c` (Høiland-Jørgensen, Täht and Morton 2018). Times are whole nanoseconds, as in Linux.
//!
//! The DSCP of a packet determines its tin, and a hash of its flow determines its queue within the tin (`tin.rs`).

mod parameters;

use super::subqueues::SubqueueCounters;
use super::tin::{Keys, LineTime, Tin};
use super::{Endpoints, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use longpipe_events::{mix, Stream, Time, PS_PER_NS};
pub use parameters::{CakeAckFilter, CakeConfig, CakeFraming, CakeIsolation, CakeTins};
use std::cmp::Reverse;

/// The shaper. It releases a packet when the previous one has been sent at the configured rate. A failsafe time, which
/// adds 1.5 times the transmission time of each packet and ignores dropped packets, bounds the wait.
#[derive(Clone, Debug)]
struct Shaper {
    line: LineTime,
    next: i64,
    failsafe: i64,
}

impl Shaper {
    fn release(&self) -> i64 {
        self.next.min(self.failsafe)
    }

    /// Discards unused transmission time when a packet arrives at an empty queue.
    fn restart(&mut self, now: i64) {
        if self.next < now {
            (self.next, self.failsafe) = (now, now);
        }
    }
}

/// The queue discipline.
#[derive(Clone, Debug)]
pub struct Cake<T> {
    config: CakeConfig,
    shaper: Option<Shaper>,
    tins: Vec<Tin<T>>,
    /// Tin served last.
    current: usize,
    circuits: Vec<Keys>,
    random: Stream,
    packets: u64,
    bytes: u64,
    /// Bytes charged to the shaper: the lengths of packets with overhead and framing.
    charged_bytes: u64,
}

impl<T: Queued> Cake<T> {
    /// Creates an empty discipline for the given circuits, indexed by number; `salt` determines the hashes.
    pub fn new(config: &CakeConfig, circuits: impl Iterator<Item = Endpoints>, salt: u64, random: Stream) -> Cake<T> {
        let hash = |kind: u64, number: u64| mix(salt ^ mix(kind << 32 | number)) as u32;
        let (by_flow, by_host) = (config.isolation.hashes_flow(), config.isolation.hashes_hosts());
        let keys = |(number, (hosts, dscp)): (usize, Endpoints)| {
            let hosts = [hash(1, hosts[0] as u64), hash(2, hosts[1] as u64)];
            let of_host = |side: usize| if by_host[side] { hosts[side] } else { 0 };
            Keys {
                tin: config.tins.of(dscp),
                queue: if by_flow {
                    hash(0, number as u64)
                } else {
                    of_host(0) ^ of_host(1)
                },
                hosts,
            }
        };
        let rate = config.rate_bps.map_or(0, |bps| bps / 8);
        let (rtt, isolates) = (Time(config.rtt_ps).as_nanoseconds(), config.isolation.isolates());
        let tin = |share| Tin::new(share, rtt, isolates);
        let tins: Vec<Tin<T>> = config.tins.shares(rate).into_iter().map(tin).collect();
        Cake {
            shaper: tins[0].line.map(|line| Shaper {
                line,
                next: 0,
                failsafe: 0,
            }),
            tins,
            config: config.clone(),
            current: 0,
            circuits: circuits.enumerate().map(keys).collect(),
            random,
            packets: 0,
            bytes: 0,
            charged_bytes: 0,
        }
    }

    /// Charges a packet that was sent or dropped to its tin and to the shaper. Returns the packet's length on the wire.
    fn charge(&mut self, tin: usize, bytes: u64, now: i64, dropped: bool) -> i64 {
        let length = self.config.line_bytes(bytes);
        let tin = &mut self.tins[tin];
        if let (Some(shaper), Some(line)) = (&mut self.shaper, tin.line) {
            let (own, whole) = (line.of(length), shaper.line.of(length));
            if tin.next < now {
                tin.next += own;
            } else if tin.next < now + own {
                tin.next = now + own;
            }
            shaper.next += whole;
            self.charged_bytes += length;
            if !dropped {
                shaper.failsafe += whole + (whole >> 1);
            }
        }
        length as i64
    }

    fn count_out(&mut self, tin: usize, packet: &T) {
        self.tins[tin].packets -= 1;
        self.packets -= 1;
        self.bytes -= packet.bytes();
    }

    /// Removes the ACK that a new ACK makes redundant according to the filter. ACKs for which Linux would compare SACK
    /// blocks are kept.
    fn filter(&mut self, tin: usize, queue: usize, packet: &T) -> Option<T> {
        if self.config.ack_filter == CakeAckFilter::Off {
            return None;
        }
        let backlog = &mut self.tins[tin].flows[queue].backlog;
        let (first, another) = {
            let waiting = (0..).zip(backlog.iter());
            let mut redundant = waiting.filter(|(_, earlier)| packet.supersedes(earlier));
            (redundant.next()?.0, redundant.next().is_some())
        };
        let before_it = first + 1 == backlog.len();
        let drops = another || (self.config.ack_filter == CakeAckFilter::Aggressive && before_it);
        if !drops {
            return None;
        }
        let removed = backlog.remove_at(first)?;
        self.count_out(tin, &removed);
        Some(removed)
    }

    /// Removes the first packet of the longest queue, because the buffer is full.
    fn shorten_longest(&mut self, now: i64) -> Option<T> {
        let longest =
            |(number, tin): (usize, &Tin<T>)| tin.longest().map(|(bytes, queue)| (bytes, Reverse(number), queue));
        let (_, Reverse(number), Reverse(queue)) = self.tins.iter().enumerate().filter_map(longest).max()?;
        let tin = &mut self.tins[number];
        let packet = tin.flows[queue].backlog.pop()?;
        tin.flows[queue].cobalt.on_overflow(&tin.params, now);
        self.count_out(number, &packet);
        if self.config.ingress {
            self.charge(number, packet.bytes(), now, true);
        }
        Some(packet)
    }

    /// Returns the tin to serve: the last tin that is within its priority rate, or, if there is none, the tin that will
    /// be within it first.
    fn next_by_schedule(&self, now: i64) -> Option<usize> {
        let active = self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active());
        let mut best: Option<(i64, usize)> = None;
        for (number, tin) in active {
            let wait = tin.next - now;
            if wait <= 0 || best.is_none_or(|(min, _)| wait <= min) {
                best = Some((wait, number));
            }
        }
        best.map(|(_, number)| number)
    }

    /// Returns the tin to serve if there is no shaper, chosen by deficit round robin.
    fn next_by_deficit(&mut self) -> Option<usize> {
        if !self.tins.iter().any(Tin::is_active) {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_active() {
                return Some(self.current);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }
}

impl<T: Queued> QueueDisc<T> for Cake<T> {
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let now = port.now.as_nanoseconds();
        let keys = self.circuits[packet.flow() as usize];
        let queue = self.tins[keys.tin].queue_of(&keys);
        let tin = &mut self.tins[keys.tin];
        if tin.packets == 0 {
            tin.next = tin.next.max(now);
        }
        if let (0, Some(shaper)) = (self.packets, &mut self.shaper) {
            shaper.restart(now);
        }
        if let Some(redundant) = self.filter(keys.tin, queue, &packet) {
            if self.config.ingress {
                self.charge(keys.tin, redundant.bytes(), now, true);
            }
            self.tins[keys.tin]
                .counters
                .lose(port.now, &redundant, DropCause::AckFilter);
            drop(redundant, DropCause::AckFilter);
        }
        self.packets += 1;
        self.bytes += packet.bytes();
        let tin = &mut self.tins[keys.tin];
        tin.packets += 1;
        tin.counters.enter(port.now, packet.bytes());
        tin.flows[queue].backlog.push(packet);
        tin.list(queue, &mut self.random);
        while self.packets > port.room_packets || self.bytes > port.room_bytes {
            match self.shorten_longest(now) {
                Some(dropped) => {
                    let tin = self.circuits[dropped.flow() as usize].tin;
                    self.tins[tin].counters.lose(port.now, &dropped, DropCause::Overflow);
                    drop(dropped, DropCause::Overflow);
                }
                None => break,
            }
        }
        false
    }

    fn dequeue(&mut self, time: Time, mut drop: impl FnMut(T, DropCause)) -> Option<T> {
        let now = time.as_nanoseconds();
        let mut first = true;
        'tin: while self.packets > 0 && self.shaper.as_ref().is_none_or(|shaper| shaper.release() <= now) {
            self.current = match self.shaper {
                Some(_) => self.next_by_schedule(now),
                None => self.next_by_deficit(),
            }?;
            let number = self.current;
            while let Some((turn, queue)) = self.tins[number].next_turn(first) {
                first = false;
                if self.tins[number].flows[queue].deficit <= 0 {
                    self.tins[number].renew((turn, queue), &mut self.random);
                    continue;
                }
                loop {
                    let tin = &mut self.tins[number];
                    let flow = &mut tin.flows[queue];
                    let Some(mut packet) = flow.backlog.pop() else {
                        tin.retire((turn, queue), now);
                        continue 'tin;
                    };
                    let bulk_flows = if self.config.ingress {
                        i64::from(tin.bulk_flows)
                    } else {
                        0
                    };
                    let dropped = flow
                        .cobalt
                        .signals_drop(&tin.params, now, &mut packet, bulk_flows, &mut self.random)
                        && !flow.backlog.is_empty();
                    self.count_out(number, &packet);
                    if !dropped || self.config.ingress {
                        let length = self.charge(number, packet.bytes(), now, dropped);
                        self.tins[number].flows[queue].deficit -= length;
                        self.tins[number].deficit -= length;
                    }
                    let counters = &mut self.tins[number].counters;
                    if !dropped {
                        counters.leave(time, &packet);
                        return Some(packet);
                    }
                    counters.lose(time, &packet, DropCause::Aqm);
                    drop(packet, DropCause::Aqm);
                    if self.config.ingress {
                        break;
                    }
                }
            }
        }
        None
    }

    fn release(&self, now: Time) -> Time {
        let release = self
            .shaper
            .as_ref()
            .map_or(0, |shaper| shaper.release() as u64 * PS_PER_NS);
        now.max(Time(release))
    }

    fn backlog(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    fn purge(&mut self, now: Time, mut drop: impl FnMut(T)) {
        // Queues stay in their lists until their next turn, and are removed at that time if they are empty.
        for tin in &mut self.tins {
            let Tin { flows, counters, .. } = tin;
            for flow in flows {
                flow.backlog.purge(|packet| {
                    counters.lose(now, &packet, DropCause::Outage);
                    drop(packet);
                });
            }
            tin.packets = 0;
        }
        (self.packets, self.bytes) = (0, 0);
    }

    fn charged_bytes(&self) -> u64 {
        self.charged_bytes
    }

    fn subqueues(&self) -> Vec<&SubqueueCounters> {
        self.tins.iter().map(|tin| &tin.counters).collect()
    }
}

#[cfg(test)]
mod tests;
