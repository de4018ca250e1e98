//! Who acts next: one pending event per entity.
//!
//! Equal times are ordered by the `Order` given with each event, then by entity number, never by insertion.
//! Events of the next few thousand grains of time lie in a wheel of buckets, later ones in a tournament. One that is set again and
//! again as it comes, a busy port's say, lies beside both.

use crate::key::{Entity, Key, Order, MAX_ENTITIES};
use crate::time::{Span, Time};
use crate::tournament::Tournament;

/// Buckets of the wheel: as many as a bit map of two levels holds.
const BUCKETS: u64 = 64 * 64;
const WORDS: usize = (BUCKETS / 64) as usize;
const NONE: Entity = Entity::MAX;

/// Where an entity's pending event lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nowhere,
    Near,
    Far,
    Beside,
}

/// What is known of one entity.
#[derive(Clone, Copy, Debug)]
struct Pending {
    key: Key,
    /// The next one in the same bucket.
    next: Entity,
    place: Place,
}

/// The pending events of a fixed set of entities.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Logarithm of a bucket's width [ps].
    grain: u32,
    /// Nothing pending is before this [ps].
    bound: u64,
    /// Bucket number, counted from time zero, whose events are in `current`.
    turn: u64,
    /// Events of buckets up to `turn`, the earliest last.
    current: Vec<Key>,
    /// First entity of each bucket after `turn`, by bucket number modulo `BUCKETS`.
    buckets: Vec<Entity>,
    /// Bit map of the buckets that hold anything, and of its words that are not zero.
    occupied: [u64; WORDS],
    words: u64,
    far: Tournament,
    /// The event that lies beside, if there is one.
    beside: Key,
    /// The earlier one of that and of the first far event.
    elsewhere: Key,
    pending: Vec<Pending>,
}

impl Agenda {
    /// An agenda with nothing pending for entities `0..entities`. It is fastest if most events are set a
    /// few times `interval` ahead.
    pub fn new(entities: usize, interval: Span) -> Agenda {
        assert!(entities <= MAX_ENTITIES, "at most {MAX_ENTITIES} entities");
        let nothing = Pending {
            key: Key::NEVER,
            next: NONE,
            place: Place::Nowhere,
        };
        Agenda {
            grain: (interval.0 / 8).max(1).ilog2(),
            bound: u64::MAX,
            turn: 0,
            current: Vec::new(),
            buckets: vec![NONE; BUCKETS as usize],
            occupied: [0; WORDS],
            words: 0,
            far: Tournament::new(entities),
            beside: Key::NEVER,
            elsewhere: Key::NEVER,
            pending: vec![nothing; entities],
        }
    }

    /// Sets the entity's only pending event, in place of an earlier one if there is one.
    #[inline]
    pub fn set(&mut self, entity: Entity, time: Time, order: Order) {
        let key = Key::new(time, order, entity);
        self.bound = self.bound.min(time.0);
        let bucket = time.0 >> self.grain;
        let place = self.pending[entity as usize].place;
        if place == Place::Far && bucket >= self.turn + BUCKETS {
            self.pending[entity as usize].key = key;
            return self.set_far(entity, key);
        }
        if place != Place::Nowhere {
            self.remove(entity);
        }
        let pending = &mut self.pending[entity as usize];
        pending.key = key;
        pending.place = Place::Near;
        if bucket.wrapping_sub(self.turn + 1) < BUCKETS - 1 {
            let index = (bucket % BUCKETS) as usize;
            pending.next = std::mem::replace(&mut self.buckets[index], entity);
            self.occupied[index / 64] |= 1 << (index % 64);
            self.words |= 1 << (index / 64);
        } else if bucket <= self.turn {
            let at = self.current.partition_point(|other| *other > key);
            self.current.insert(at, key);
        } else {
            pending.place = Place::Far;
            self.set_far(entity, key);
        }
    }

    /// The same of an entity whose events follow one another closely.
    #[inline]
    pub fn set_beside(&mut self, entity: Entity, time: Time, order: Order) {
        let place = self.pending[entity as usize].place;
        let taken =
            place == Place::Near || place == Place::Far || (self.beside != Key::NEVER && place == Place::Nowhere);
        if taken {
            return self.set(entity, time, order);
        }
        self.bound = self.bound.min(time.0);
        self.put_beside(Key::new(time, order, entity));
        self.pending[entity as usize].place = Place::Beside;
    }

    /// Drops the entity's pending event, if there is one.
    pub fn cancel(&mut self, entity: Entity) {
        if self.pending[entity as usize].place != Place::Nowhere {
            self.remove(entity);
        }
    }

    /// Takes out the earliest event if it is not after `end`: its time and entity.
    #[inline]
    pub fn pop(&mut self, end: Time) -> Option<(Time, Entity)> {
        if self.current.is_empty() {
            match self.lone_next() {
                Some((_, key)) if key.time() > end => return None,
                Some((bucket, key)) => {
                    self.turn = bucket;
                    self.buckets[(bucket % BUCKETS) as usize] = NONE;
                    self.vacate((bucket % BUCKETS) as usize);
                    self.pending[key.entity() as usize].place = Place::Nowhere;
                    return Some((key.time(), key.entity()));
                }
                None => self.turn_wheel(),
            }
        }
        let near = self.current.last().copied().unwrap_or(Key::NEVER);
        let key = near.min(self.elsewhere);
        if key.time() > end || key == Key::NEVER {
            return None;
        }
        let entity = key.entity();
        if near < self.elsewhere {
            self.current.pop();
        } else if key == self.beside {
            self.put_beside(Key::NEVER);
            // What lies elsewhere has been looked at.
            self.bound = near.min(self.elsewhere).time().0;
        } else {
            self.set_far(entity, Key::NEVER);
        }
        self.pending[entity as usize].place = Place::Nowhere;
        Some((key.time(), entity))
    }

    /// An instant before which nothing is pending.
    #[inline(always)]
    pub fn bound(&self) -> Time {
        Time(self.bound)
    }

    /// Whether an event would come before all that are pending, so that it need not be set.
    #[inline]
    pub fn would_be_first(&mut self, entity: Entity, time: Time, order: Order) -> bool {
        Key::new(time, order, entity) < self.first()
    }

    /// When the next event comes, or a time after all if none is pending.
    #[inline]
    pub fn next_time(&mut self) -> Time {
        self.first().time()
    }

    #[inline]
    fn first(&mut self) -> Key {
        if self.current.is_empty() {
            self.turn_wheel();
        }
        let near = self.current.last().copied().unwrap_or(Key::NEVER);
        let first = near.min(self.elsewhere);
        self.bound = first.time().0;
        first
    }

    #[inline]
    fn set_far(&mut self, entity: Entity, key: Key) {
        self.far.set(entity, key);
        self.elsewhere = self.far.first().min(self.beside);
    }

    #[inline(always)]
    fn put_beside(&mut self, key: Key) {
        self.beside = key;
        self.elsewhere = self.far.first().min(key);
    }

    /// The next bucket that holds anything and its event, if that is the only one there and before the events elsewhere.
    #[inline(always)]
    fn lone_next(&self) -> Option<(u64, Key)> {
        let bucket = self.next_bucket()?;
        let Pending { key, next, .. } = self.pending[self.buckets[(bucket % BUCKETS) as usize] as usize];
        (next == NONE && key < self.elsewhere).then_some((bucket, key))
    }

    /// Moves on to the next bucket that holds anything, but not past the far events.
    #[inline(always)]
    fn turn_wheel(&mut self) {
        let far = self.far.first();
        let next = self.next_bucket().filter(|&next| next <= far.time().0 >> self.grain);
        let Some(next) = next else {
            if far != Key::NEVER {
                self.turn = self.turn.max((far.time().0 >> self.grain).saturating_sub(1));
            }
            return;
        };
        self.turn = next;
        let index = (next % BUCKETS) as usize;
        self.vacate(index);
        let mut entity = std::mem::replace(&mut self.buckets[index], NONE);
        while entity != NONE {
            let pending = &self.pending[entity as usize];
            self.current.push(pending.key);
            entity = pending.next;
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// The first bucket after `turn` that holds anything.
    #[inline(always)]
    fn next_bucket(&self) -> Option<u64> {
        let from = self.turn + 1;
        let (word, bit) = ((from % BUCKETS / 64) as usize, from % 64);
        let found = self.occupied[word] >> bit;
        if found != 0 {
            return Some(from + u64::from(found.trailing_zeros()));
        }
        if self.words == 0 {
            return None;
        }
        // Words after this one, then from the first one on to this one again, for the buckets before `from`.
        let ahead = u64::from(self.words.rotate_right(word as u32 + 1).trailing_zeros()) + 1;
        let found = self.occupied[(word + ahead as usize) % WORDS];
        Some(from - bit + 64 * ahead + u64::from(found.trailing_zeros()))
    }

    #[inline(always)]
    fn vacate(&mut self, index: usize) {
        let word = &mut self.occupied[index / 64];
        *word &= !(1 << (index % 64));
        self.words &= !(u64::from(*word == 0) << (index / 64));
    }

    /// Takes an entity's pending event out, wherever it lies.
    #[cold]
    fn remove(&mut self, entity: Entity) {
        let Pending { key, next, place } = self.pending[entity as usize];
        self.pending[entity as usize].place = Place::Nowhere;
        match place {
            Place::Far => return self.set_far(entity, Key::NEVER),
            Place::Beside => return self.put_beside(Key::NEVER),
            Place::Nowhere | Place::Near => {}
        }
        if key.time().0 >> self.grain <= self.turn {
            return self.current.retain(|other| *other != key);
        }
        let index = ((key.time().0 >> self.grain) % BUCKETS) as usize;
        if self.buckets[index] == entity {
            self.buckets[index] = next;
        } else {
            let mut before = self.buckets[index];
            while self.pending[before as usize].next != entity {
                before = self.pending[before as usize].next;
            }
            self.pending[before as usize].next = next;
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
    fn equal_times_go_by_order_then_entity() {
        let mut agenda = Agenda::new(4, Span(1));
        agenda.set(3, Time(5), 1);
        agenda.set(2, Time(5), 1);
        agenda.set(1, Time(5), 0);
        agenda.set(0, Time(6), 0);
        let seen: Vec<_> = std::iter::from_fn(|| agenda.pop(END))
            .map(|(_, entity)| entity)
            .collect();
        assert_eq!(seen, [1, 2, 3, 0]);
    }

    #[test]
    fn nothing_after_the_end_is_taken_out() {
        let mut agenda = Agenda::new(2, Span(1));
        agenda.set(0, Time(5), 0);
        assert_eq!(agenda.pop(Time(4)), None);
        assert_eq!(agenda.pop(Time(5)), Some((Time(5), 0)));
        assert_eq!(agenda.pop(Time(5)), None);
    }

    proptest! {
        /// Steps: set an entity some time ahead (short, within the wheel, or far), or take events out.
        #[test]
        fn it_agrees_with_a_sorted_list(
            interval in 1u64..1000,
            steps in prop::collection::vec(
                (0u32..20, prop_oneof![0u64..40, 0u64..20_000, 0u64..10_000_000], 0u64..4, 0usize..3, 0u32..4),
                1..400,
            ),
        ) {
            let mut agenda = Agenda::new(20, Span(interval));
            let mut list = [None; 20];
            let mut now = 0;
            for (entity, ahead, order, takes, how) in steps {
                list[entity as usize] = Some((now + ahead, order, entity));
                match how {
                    0 => agenda.set_beside(entity, Time(now + ahead), order),
                    1 => {
                        agenda.cancel(entity);
                        list[entity as usize] = None;
                    }
                    _ => agenda.set(entity, Time(now + ahead), order),
                }
                for _ in 0..takes {
                    let expected = list.iter().flatten().min().copied();
                    let first = expected.is_none_or(|least| (now + ahead, order, 20) < least);
                    prop_assert_eq!(agenda.would_be_first(20, Time(now + ahead), order), first);
                    prop_assert_eq!(agenda.pop(END), expected.map(|(t, _, e)| (Time(t), e)));
                    if let Some((time, _, entity)) = expected {
                        now = time;
                        list[entity as usize] = None;
                    }
                }
            }
        }
    }
}
