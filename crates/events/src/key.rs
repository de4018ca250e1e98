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

/// Key of an event: its time in the upper 64 bits, then its order among simultaneous events, then its entity. One integer,
/// because two would be compared with more instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u128);

impl Key {
    /// A key that is greater than the key of every event.
    pub const NEVER: Key = Key(u128::MAX);

    /// Creates the key of an entity's event.
    #[inline]
    pub fn new(time: Time, order: Order, entity: Entity) -> Key {
        debug_assert!(order < 1 << ORDER_BITS);
        let rank = (order << ENTITY_BITS) | u64::from(entity);
        Key(u128::from(time.0) << 64 | u128::from(rank))
    }

    /// Returns the time of the event.
    #[inline]
    pub fn time(self) -> Time {
        Time((self.0 >> 64) as u64)
    }

    /// Returns the order among simultaneous events.
    #[inline]
    pub fn order(self) -> Order {
        self.0 as u64 >> ENTITY_BITS
    }

    /// Returns the entity of the event.
    #[inline]
    pub fn entity(self) -> Entity {
        self.0 as u32 & (MAX_ENTITIES as u32 - 1)
    }
}
