//! The event queue: one pending event per entity.
//!
//! Events at equal times are ordered by the `Order` given with each event, then by entity number, never by insertion.
//! The queue is a calendar queue: events within the next few thousand bucket widths are in a wheel of buckets, and
//! later events are in a tournament (the overflow). If many events share a bucket, such as those of thousands of flows
//! at the same time, they are also in the tournament, where a change takes time proportional to the logarithm of their
//! number. One entity that reschedules itself constantly, such as a busy port, has a dedicated slot outside both.

use crate::key::{Entity, Key, Order, MAX_ENTITIES};
use crate::time::{Span, Time};
use crate::tournament::Tournament;

/// Number of buckets of the wheel; a two-level bitmap with 64-bit words has this number of bits.
const BUCKETS: u64 = 64 * 64;
const WORDS: usize = (BUCKETS / 64) as usize;
/// Maximum number of events that are kept sorted; additional events of the current bucket are in the overflow.
const CROWD: usize = 64;
const NONE: Entity = Entity::MAX;

/// Location of an entity's pending event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    None,
    Wheel,
    Overflow,
    Dedicated,
}

/// State of one entity.
#[derive(Clone, Copy, Debug)]
struct Pending {
    key: Key,
    /// Neighbors in the list of events in the same bucket.
    next: Entity,
    previous: Entity,
    location: Location,
}

/// Pending events of a fixed set of entities.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Base-2 logarithm of the bucket width [ps].
    bucket_width_log2: u32,
    /// Lower bound on the times of all pending events [ps].
    lower_bound: u64,
    /// Number of the current bucket; bucket 0 starts at time zero.
    current_bucket: u64,
    /// Events of all buckets up to the current one, in descending order of time; at most `CROWD` events.
    current: Vec<Key>,
    /// First entity of each later bucket, indexed by the bucket number modulo `BUCKETS`.
    buckets: Vec<Entity>,
    /// Bitmap of non-empty buckets; `words` is the bitmap of its non-zero words.
    occupied: [u64; WORDS],
    words: u64,
    /// Events later than the wheel covers, and the events of the current bucket if it is crowded.
    overflow: Tournament,
    /// Event in the dedicated slot, or `Key::NEVER`.
    dedicated: Key,
    /// Earlier one of the events in the dedicated slot and in the overflow.
    outside_min: Key,
    pending: Vec<Pending>,
}

impl EventQueue {
    /// Creates an empty queue for entities `0..entities`. The queue is fastest if most events are scheduled ahead by a
    /// small multiple of `interval`.
    pub fn new(entities: usize, interval: Span) -> EventQueue {
        assert!(entities <= MAX_ENTITIES, "at most {MAX_ENTITIES} entities");
        let nothing = Pending {
            key: Key::NEVER,
            next: NONE,
            previous: NONE,
            location: Location::None,
        };
        EventQueue {
            bucket_width_log2: (interval.0 / 8).max(1).ilog2(),
            lower_bound: u64::MAX,
            current_bucket: 0,
            current: Vec::new(),
            buckets: vec![NONE; BUCKETS as usize],
            occupied: [0; WORDS],
            words: 0,
            overflow: Tournament::new(entities),
            dedicated: Key::NEVER,
            outside_min: Key::NEVER,
            pending: vec![nothing; entities],
        }
    }

    /// Schedules the entity's event, which replaces its pending event, if any.
    #[inline]
    pub fn set(&mut self, entity: Entity, time: Time, order: Order) {
        let key = Key::new(time, order, entity);
        self.lower_bound = self.lower_bound.min(time.0);
        let bucket = time.0 >> self.bucket_width_log2;
        let location = self.pending[entity as usize].location;
        if location == Location::Overflow && bucket >= self.current_bucket + BUCKETS {
            self.pending[entity as usize].key = key;
            return self.set_overflow(entity, key);
        }
        if location != Location::None {
            self.remove(entity);
        }
        let pending = &mut self.pending[entity as usize];
        pending.key = key;
        pending.location = Location::Wheel;
        if bucket.wrapping_sub(self.current_bucket + 1) < BUCKETS - 1 {
            let index = (bucket % BUCKETS) as usize;
            let next = std::mem::replace(&mut self.buckets[index], entity);
            (pending.next, pending.previous) = (next, NONE);
            if next != NONE {
                self.pending[next as usize].previous = entity;
            }
            self.occupied[index / 64] |= 1 << (index % 64);
            self.words |= 1 << (index / 64);
        } else if bucket <= self.current_bucket && self.current.len() < CROWD {
            let at = self.current.partition_point(|other| *other > key);
            self.current.insert(at, key);
        } else {
            pending.location = Location::Overflow;
            self.set_overflow(entity, key);
        }
    }

    /// Schedules the event of an entity that reschedules itself constantly; uses the dedicated slot if it is free.
    #[inline]
    pub fn set_dedicated(&mut self, entity: Entity, time: Time, order: Order) {
        let location = self.pending[entity as usize].location;
        let is_occupied = location == Location::Wheel
            || location == Location::Overflow
            || (self.dedicated != Key::NEVER && location == Location::None);
        if is_occupied {
            return self.set(entity, time, order);
        }
        self.lower_bound = self.lower_bound.min(time.0);
        self.put_dedicated(Key::new(time, order, entity));
        self.pending[entity as usize].location = Location::Dedicated;
    }

    /// Cancels the entity's pending event, if any.
    pub fn cancel(&mut self, entity: Entity) {
        if self.pending[entity as usize].location != Location::None {
            self.remove(entity);
        }
    }

    /// Removes and returns the earliest event (time and entity), unless the event is after `end`.
    #[inline]
    pub fn pop(&mut self, end: Time) -> Option<(Time, Entity)> {
        if self.current.is_empty() {
            match self.next_if_alone() {
                Some((_, key)) if key.time() > end => return None,
                Some((bucket, key)) => {
                    self.current_bucket = bucket;
                    self.buckets[(bucket % BUCKETS) as usize] = NONE;
                    self.vacate((bucket % BUCKETS) as usize);
                    self.pending[key.entity() as usize].location = Location::None;
                    return Some((key.time(), key.entity()));
                }
                None => self.advance_wheel(),
            }
        }
        let near = self.current.last().copied().unwrap_or(Key::NEVER);
        let key = near.min(self.outside_min);
        if key.time() > end || key == Key::NEVER {
            return None;
        }
        let entity = key.entity();
        if near < self.outside_min {
            self.current.pop();
        } else if key == self.dedicated {
            self.put_dedicated(Key::NEVER);
            // The bound is exact, because all other locations were just compared.
            self.lower_bound = near.min(self.outside_min).time().0;
        } else {
            self.set_overflow(entity, Key::NEVER);
        }
        self.pending[entity as usize].location = Location::None;
        Some((key.time(), entity))
    }

    /// Returns a lower bound on the times of all pending events.
    #[inline(always)]
    pub fn lower_bound(&self) -> Time {
        Time(self.lower_bound)
    }

    /// Returns whether an event would precede all pending events; if so, the caller can process it without scheduling
    /// it.
    #[inline]
    pub fn would_be_first(&mut self, entity: Entity, time: Time, order: Order) -> bool {
        Key::new(time, order, entity) < self.first()
    }

    /// Returns the time of the next event, or the largest possible time if no event is pending.
    #[inline]
    pub fn next_time(&mut self) -> Time {
        self.first().time()
    }

    #[inline]
    fn first(&mut self) -> Key {
        if self.current.is_empty() {
            self.advance_wheel();
        }
        let near = self.current.last().copied().unwrap_or(Key::NEVER);
        let first = near.min(self.outside_min);
        self.lower_bound = first.time().0;
        first
    }

    #[inline]
    fn set_overflow(&mut self, entity: Entity, key: Key) {
        self.overflow.set(entity, key);
        self.outside_min = self.overflow.first().min(self.dedicated);
    }

    #[inline(always)]
    fn put_dedicated(&mut self, key: Key) {
        self.dedicated = key;
        self.outside_min = self.overflow.first().min(key);
    }

    /// Returns the next non-empty bucket and its event if the bucket has only one event and this event precedes all
    /// events outside the wheel.
    #[inline(always)]
    fn next_if_alone(&self) -> Option<(u64, Key)> {
        let bucket = self.next_bucket()?;
        let Pending { key, next, .. } = self.pending[self.buckets[(bucket % BUCKETS) as usize] as usize];
        (next == NONE && key < self.outside_min).then_some((bucket, key))
    }

    /// Advances to the next non-empty bucket, but not past the first overflow event.
    #[inline(always)]
    fn advance_wheel(&mut self) {
        let far = self.overflow.first();
        let next = self
            .next_bucket()
            .filter(|&next| next <= far.time().0 >> self.bucket_width_log2);
        let Some(next) = next else {
            if far != Key::NEVER {
                self.current_bucket = self
                    .current_bucket
                    .max((far.time().0 >> self.bucket_width_log2).saturating_sub(1));
            }
            return;
        };
        self.current_bucket = next;
        let index = (next % BUCKETS) as usize;
        self.vacate(index);
        let mut entity = std::mem::replace(&mut self.buckets[index], NONE);
        while entity != NONE {
            let pending = &self.pending[entity as usize];
            self.current.push(pending.key);
            entity = pending.next;
        }
        if self.current.len() > CROWD {
            self.move_crowd();
        } else if self.current.len() > 1 {
            self.current.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Moves the events of a crowded bucket into the overflow.
    #[cold]
    fn move_crowd(&mut self) {
        for key in self.current.drain(..) {
            self.pending[key.entity() as usize].location = Location::Overflow;
            self.overflow.set(key.entity(), key);
        }
        self.outside_min = self.overflow.first().min(self.dedicated);
    }

    /// Returns the first non-empty bucket after the current one.
    #[inline(always)]
    fn next_bucket(&self) -> Option<u64> {
        let from = self.current_bucket + 1;
        let (word, bit) = ((from % BUCKETS / 64) as usize, from % 64);
        let later_bits = self.occupied[word] >> bit;
        if later_bits != 0 {
            return Some(from + u64::from(later_bits.trailing_zeros()));
        }
        if self.words == 0 {
            return None;
        }
        // Searches the later words of the bitmap, and then wraps around to the buckets before `from`.
        let ahead = u64::from(self.words.rotate_right(word as u32 + 1).trailing_zeros()) + 1;
        let later_bits = self.occupied[(word + ahead as usize) % WORDS];
        Some(from - bit + 64 * ahead + u64::from(later_bits.trailing_zeros()))
    }

    #[inline(always)]
    fn vacate(&mut self, index: usize) {
        let word = &mut self.occupied[index / 64];
        *word &= !(1 << (index % 64));
        self.words &= !(u64::from(*word == 0) << (index / 64));
    }

    /// Removes an entity's pending event from its location.
    #[cold]
    fn remove(&mut self, entity: Entity) {
        let Pending {
            key,
            next,
            previous,
            location,
        } = self.pending[entity as usize];
        self.pending[entity as usize].location = Location::None;
        match location {
            Location::Overflow => return self.set_overflow(entity, Key::NEVER),
            Location::Dedicated => return self.put_dedicated(Key::NEVER),
            Location::None | Location::Wheel => {}
        }
        if key.time().0 >> self.bucket_width_log2 <= self.current_bucket {
            return self.current.retain(|other| *other != key);
        }
        let index = ((key.time().0 >> self.bucket_width_log2) % BUCKETS) as usize;
        match previous {
            NONE => self.buckets[index] = next,
            previous => self.pending[previous as usize].next = next,
        }
        if next != NONE {
            self.pending[next as usize].previous = previous;
        }
        if self.buckets[index] == NONE {
            self.vacate(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const END: Time = Time(u64::MAX - 1);

    #[test]
    fn events_at_equal_times_are_sorted_by_order_then_entity() {
        let mut queue = EventQueue::new(4, Span(1));
        queue.set(3, Time(5), 1);
        queue.set(2, Time(5), 1);
        queue.set(1, Time(5), 0);
        queue.set(0, Time(6), 0);
        let seen: Vec<_> = std::iter::from_fn(|| queue.pop(END))
            .map(|(_, entity)| entity)
            .collect();
        assert_eq!(seen, [1, 2, 3, 0]);
    }

    #[test]
    fn events_after_the_end_are_not_popped() {
        let mut queue = EventQueue::new(2, Span(1));
        queue.set(0, Time(5), 0);
        assert_eq!(queue.pop(Time(4)), None);
        assert_eq!(queue.pop(Time(5)), Some((Time(5), 0)));
        assert_eq!(queue.pop(Time(5)), None);
    }

    /// An operation: an entity, the time from now to its event, the order of the event, the number of events to pop
    /// afterwards, and whether the event is set, set in the dedicated slot, or cancelled.
    type Step = (u32, u64, u64, usize, u32);

    fn steps(entities: u32, ahead: impl Strategy<Value = u64>, count: usize) -> impl Strategy<Value = Vec<Step>> {
        prop::collection::vec((0..entities, ahead, 0u64..4, 0usize..3, 0u32..4), 1..count)
    }

    fn agrees_with_a_sorted_list(entities: u32, interval: u64, steps: Vec<Step>) -> Result<(), TestCaseError> {
        let mut queue = EventQueue::new(entities as usize, Span(interval));
        let mut list = vec![None; entities as usize];
        let mut now = 0;
        for (entity, ahead, order, takes, how) in steps {
            list[entity as usize] = Some((now + ahead, order, entity));
            match how {
                0 => queue.set_dedicated(entity, Time(now + ahead), order),
                1 => {
                    queue.cancel(entity);
                    list[entity as usize] = None;
                }
                _ => queue.set(entity, Time(now + ahead), order),
            }
            for _ in 0..takes {
                let expected = list.iter().flatten().min().copied();
                let first = expected.is_none_or(|least| (now + ahead, order, entities) < least);
                prop_assert_eq!(queue.would_be_first(entities, Time(now + ahead), order), first);
                prop_assert_eq!(queue.pop(END), expected.map(|(t, _, e)| (Time(t), e)));
                if let Some((time, _, entity)) = expected {
                    now = time;
                    list[entity as usize] = None;
                }
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_queue_agrees_with_a_sorted_list(
            interval in 1u64..1000,
            steps in steps(20, prop_oneof![0u64..40, 0u64..20_000, 0u64..10_000_000], 400),
        ) {
            agrees_with_a_sorted_list(20, interval, steps)?;
        }

        #[test]
        fn the_queue_agrees_with_a_sorted_list_for_hundreds_of_simultaneous_events(
            interval in 1u64..1_000_000,
            steps in steps(8 * CROWD as u32, prop_oneof![0u64..3, 900_000u64..900_003], 2000),
        ) {
            agrees_with_a_sorted_list(8 * CROWD as u32, interval, steps)?;
        }
    }
}
