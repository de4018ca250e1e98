//! A tournament tree over a fixed set of keys: reads the minimum in constant time and changes a key in logarithmic
//! time.

use crate::key::{Entity, Key};
use std::hint::select_unpredictable;

/// Keys of entities `0..n`, each present or `Key::NEVER`.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// Tree in an array: node 1 is the root, node `i` contains the smaller key of nodes `2i` and `2i + 1`, and the
    /// leaves start at index `leaves`.
    nodes: Vec<Key>,
    leaves: usize,
}

impl Tournament {
    /// Creates a tree for `entities` that contains no keys.
    pub fn new(entities: usize) -> Tournament {
        let leaves = entities.max(2).next_power_of_two();
        Tournament {
            nodes: vec![Key::NEVER; 2 * leaves],
            leaves,
        }
    }

    /// Returns the smallest key, or `Key::NEVER`.
    #[inline]
    pub fn first(&self) -> Key {
        self.nodes[1]
    }

    /// Sets an entity's key, and updates the tree from the leaf up to the first node that does not change.
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
