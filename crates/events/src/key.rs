//! When and who: what events are ordered by.

use crate::time::Time;

/// An entity with at most one pending event.
pub type Entity = u32;

/// Rank among events of one instant; only the low 40 bits count.
pub type Order = u64;

const ENTITY_BITS: u32 = 24;
const ORDER_BITS: u32 = 40;

/// Most entities there can be.
pub const MAX_ENTITIES: usize = 1 << ENTITY_BITS;

/// An event: its time, its order among those of that instant, its entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    time: u64,
    /// Order, then entity.
    rank: u64,
}

impl Key {
    /// Later than every event.
    pub const NEVER: Key = Key {
        time: u64::MAX,
        rank: u64::MAX,
    };

    /// An event of an entity.
    #[inline]
    pub fn new(time: Time, order: Order, entity: Entity) -> Key {
        debug_assert!(order < 1 << ORDER_BITS);
        Key {
            time: time.0,
            rank: (order << ENTITY_BITS) | u64::from(entity),
        }
    }

    /// When.
    #[inline]
    pub fn time(self) -> Time {
        Time(self.time)
    }

    /// Rank among events of that instant.
    #[inline]
    pub fn order(self) -> Order {
        self.rank >> ENTITY_BITS
    }

    /// Who.
    #[inline]
    pub fn entity(self) -> Entity {
        self.rank as u32 & (MAX_ENTITIES as u32 - 1)
    }
}
