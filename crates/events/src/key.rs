//! Keys that order events by time, order and entity.

use crate::time::Time;

/// An entity with at most one pending event.
pub type Entity = u32;

/// Rank among simultaneous events; only the low 40 bits count.
pub type Order = u64;

const ENTITY_BITS: u32 = 24;
const ORDER_BITS: u32 = 40;

/// Maximum number of entities.
pub const MAX_ENTITIES: usize = 1 << ENTITY_BITS;

/// Key of an event: its time, its order among simultaneous events, and its entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    time: u64,
    /// Order in the upper bits, entity in the lower ones.
    rank: u64,
}

impl Key {
    /// A key that is greater than the key of every event.
    pub const NEVER: Key = Key {
        time: u64::MAX,
        rank: u64::MAX,
    };

    /// Creates the key of an entity's event.
    #[inline]
    pub fn new(time: Time, order: Order, entity: Entity) -> Key {
        debug_assert!(order < 1 << ORDER_BITS);
        Key {
            time: time.0,
            rank: (order << ENTITY_BITS) | u64::from(entity),
        }
    }

    /// Returns the time of the event.
    #[inline]
    pub fn time(self) -> Time {
        Time(self.time)
    }

    /// Returns the order among simultaneous events.
    #[inline]
    pub fn order(self) -> Order {
        self.rank >> ENTITY_BITS
    }

    /// Returns the entity of the event.
    #[inline]
    pub fn entity(self) -> Entity {
        self.rank as u32 & (MAX_ENTITIES as u32 - 1)
    }
}
