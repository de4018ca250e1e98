//! The earliest of a fixed set of keys, in a tree of matches: a change costs a climb, the earliest nothing.

use crate::key::{Entity, Key};
use std::hint::select_unpredictable;

/// Keys of entities `0..n`, each present or `Key::NEVER`.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// Leaves from `leaves` on; node `i` holds the smaller of `2i` and `2i + 1`; the root is node 1.
    nodes: Vec<Key>,
    leaves: usize,
}

impl Tournament {
    /// No keys for `entities`.
    pub fn new(entities: usize) -> Tournament {
        let leaves = entities.max(2).next_power_of_two();
        Tournament {
            nodes: vec![Key::NEVER; 2 * leaves],
            leaves,
        }
    }

    /// The smallest key, or `Key::NEVER`.
    #[inline]
    pub fn first(&self) -> Key {
        self.nodes[1]
    }

    /// Sets an entity's key: the climb ends where it changes nothing.
    pub fn set(&mut self, entity: Entity, key: Key) {
        let mut at = self.leaves + entity as usize;
        self.nodes[at] = key;
        let mut least = key;
        while at > 1 {
            let other = self.nodes[at ^ 1];
            least = select_unpredictable(other < least, other, least);
            at >>= 1;
            if self.nodes[at] == least {
                return;
            }
            self.nodes[at] = least;
        }
    }
}
