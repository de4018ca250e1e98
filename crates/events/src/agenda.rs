//! Who acts next: one pending event per entity, in a tournament tree.
//!
//! Equal times are ordered by the `Order` given with each event, then by entity number, never by insertion.

use crate::time::Time;

/// An entity with at most one pending event.
pub type Entity = u32;

/// Rank among events of one instant; only the low 40 bits count.
pub type Order = u64;

const ENTITY_BITS: u32 = 24;
const ORDER_BITS: u32 = 40;
const NEVER: u128 = u128::MAX;

/// Most entities an agenda can hold.
pub const MAX_ENTITIES: usize = 1 << ENTITY_BITS;

/// The pending events of a fixed set of entities.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Leaves from `leaves` on; node `i` holds the smaller of `2i` and `2i + 1`; the root is node 1.
    nodes: Vec<u128>,
    leaves: usize,
}

impl Agenda {
    /// An agenda with nothing pending for entities `0..entities`.
    pub fn new(entities: usize) -> Agenda {
        assert!(entities <= MAX_ENTITIES, "at most {MAX_ENTITIES} entities");
        let leaves = entities.max(2).next_power_of_two();
        Agenda {
            nodes: vec![NEVER; 2 * leaves],
            leaves,
        }
    }

    /// Sets the entity's only pending event.
    #[inline]
    pub fn set(&mut self, entity: Entity, time: Time, order: Order) {
        debug_assert!(order < 1 << ORDER_BITS);
        let key = (u128::from(time.0) << 64) | u128::from((order << ENTITY_BITS) | u64::from(entity));
        self.replace(entity, key);
    }

    /// Removes the entity's pending event, if any.
    #[inline]
    pub fn clear(&mut self, entity: Entity) {
        self.replace(entity, NEVER);
    }

    /// The earliest event: its time and entity.
    #[inline]
    pub fn first(&self) -> Option<(Time, Entity)> {
        let key = self.nodes[1];
        if key == NEVER {
            return None;
        }
        Some((Time((key >> 64) as u64), key as u32 & (MAX_ENTITIES as u32 - 1)))
    }

    #[inline]
    fn replace(&mut self, entity: Entity, key: u128) {
        let mut at = self.leaves + entity as usize;
        let nodes = self.nodes.as_mut_slice();
        nodes[at] = key;
        let mut least = key;
        while at > 1 {
            let other = nodes[at ^ 1];
            least = if other < least { other } else { least };
            at >>= 1;
            nodes[at] = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_go_by_order_then_entity() {
        let mut agenda = Agenda::new(4);
        agenda.set(3, Time(5), 1);
        agenda.set(2, Time(5), 1);
        agenda.set(1, Time(5), 0);
        agenda.set(0, Time(6), 0);
        let mut seen = vec![];
        while let Some((_, entity)) = agenda.first() {
            seen.push(entity);
            agenda.clear(entity);
        }
        assert_eq!(seen, [1, 2, 3, 0]);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_list(steps in prop::collection::vec((0u32..20, 0u64..50, 0u64..4, any::<bool>()), 1..200)) {
            let mut agenda = Agenda::new(20);
            let mut list = [None; 20];
            for (entity, time, order, clear) in steps {
                if clear {
                    agenda.clear(entity);
                    list[entity as usize] = None;
                } else {
                    agenda.set(entity, Time(time), order);
                    list[entity as usize] = Some((time, order, entity));
                }
                let expected = list.iter().flatten().min().map(|&(t, _, e)| (Time(t), e));
                prop_assert_eq!(agenda.first(), expected);
            }
        }
    }
}
