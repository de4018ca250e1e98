//! The queue of the saturated link, with the kinds and rules of CellReplay, which are those of mahimahi.

use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;
use std::collections::VecDeque;

/// Kinds of the queue of a saturated link.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum HeavyQueue {
    /// Holds all packets.
    #[default]
    Infinite,
    /// Drops a packet that does not fit.
    DropTail,
    /// Drops the packets that have waited longest.
    DropHead,
    /// Drops packets that do not fit, and by the times that packets have waited (CoDel).
    Codel,
}

impl HeavyQueue {
    pub(super) fn is_infinite(&self) -> bool {
        *self == HeavyQueue::Infinite
    }
}

/// Limits of the queue, and CoDel's target and interval [ms].
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub kind: HeavyQueue,
    pub packets: u64,
    pub bytes: u64,
    pub target: u64,
    pub interval: u64,
}

/// Length [byte] of the queue up to which CoDel drops nothing.
const CODEL_BYTES: u64 = 1504;

/// State of CoDel (RFC 8289), as in mahimahi: the packets behind the one that is taken for an opportunity are dropped, not
/// this one.
#[derive(Clone, Copy, Debug, Default)]
struct Codel {
    /// Time [ms] at which the delay has been above the target for an interval; None while it is below.
    first_above: Option<u64>,
    drop_next: u64,
    count: u32,
    last_count: u32,
    is_dropping: bool,
}

/// Packets that wait, by their lengths [byte] and the times [ms] at which they joined.
#[derive(Clone, Debug)]
pub(super) struct Fifo {
    limits: Limits,
    waiting: VecDeque<(u64, u64)>,
    bytes: u64,
    codel: Codel,
}

impl Fifo {
    pub fn new(limits: Limits) -> Fifo {
        Fifo {
            limits,
            waiting: VecDeque::new(),
            bytes: 0,
            codel: Codel::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn fits(&self, packets: u64, bytes: u64) -> bool {
        packets <= self.limits.packets && bytes <= self.limits.bytes
    }

    /// Adds a packet. Returns which packets are dropped.
    pub fn put(&mut self, now: u64, bytes: u64) -> Dropped {
        let packets = self.waiting.len() as u64 + 1;
        let fits = self.fits(packets, self.bytes + bytes);
        let kind = self.limits.kind;
        if !fits && kind != HeavyQueue::DropHead && kind != HeavyQueue::Infinite {
            return Dropped::Last;
        }
        self.waiting.push_back((bytes, now));
        self.bytes += bytes;
        let mut dropped = 0;
        while kind == HeavyQueue::DropHead && !self.fits(self.waiting.len() as u64, self.bytes) {
            self.pop();
            dropped += 1;
        }
        Dropped::First(dropped)
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= packet.0;
        Some(packet)
    }

    /// Takes the packet for an opportunity at `now`. Returns its length [byte], and the number of packets behind it that
    /// are dropped.
    pub fn get(&mut self, now: u64) -> Option<(u64, u64)> {
        if self.limits.kind != HeavyQueue::Codel {
            return self.pop().map(|(bytes, _)| (bytes, 0));
        }
        let (bytes, is_late) = self.take(now)?;
        let mut dropped = 0;
        if self.codel.is_dropping {
            self.codel.is_dropping = is_late;
            while self.codel.is_dropping && now >= self.codel.drop_next {
                // The queue has another packet if CoDel may drop.
                self.codel.is_dropping = self.take(now).is_some_and(|(_, is_late)| is_late);
                dropped += 1;
                self.codel.count = self.codel.count.wrapping_add(1);
                if self.codel.is_dropping {
                    self.codel.drop_next = self.next_drop(self.codel.drop_next);
                }
            }
        } else if is_late {
            self.take(now);
            dropped = 1;
            let codel = &mut self.codel;
            codel.is_dropping = true;
            let more = codel.count.wrapping_sub(codel.last_count);
            let is_recent = now >= codel.drop_next && now - codel.drop_next < 16 * self.limits.interval;
            codel.count = if more > 1 && is_recent { more } else { 1 };
            codel.last_count = codel.count;
            self.codel.drop_next = self.next_drop(now);
        }
        Some((bytes, dropped))
    }

    /// Takes the first packet. Returns its length [byte], and whether CoDel may drop.
    fn take(&mut self, now: u64) -> Option<(u64, bool)> {
        let (bytes, joined) = self.pop()?;
        if self.is_empty() || now - joined < self.limits.target || self.bytes <= CODEL_BYTES {
            self.codel.first_above = None;
            return Some((bytes, false));
        }
        let limit = *self.codel.first_above.get_or_insert(now + self.limits.interval);
        Some((bytes, now >= limit))
    }

    fn next_drop(&self, time: u64) -> u64 {
        time + (self.limits.interval as f64 / f64::from(self.codel.count).sqrt()) as u64
    }
}

/// Packets that are dropped when another one joins the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dropped {
    /// This number of packets at the head of the queue.
    First(u64),
    /// The packet itself.
    Last,
}
