//! Routes of fewest hops between hosts; searches are shared among flows.

use std::collections::HashMap;

/// Numbers by node, or by pair of nodes: see `key`. One type for all, because the page contains the code of each type.
pub(crate) type Numbers = HashMap<u64, usize>;

/// Returns the key of a pair of nodes, or of a node and 0.
pub(crate) fn key(a: usize, b: usize) -> u64 {
    (a as u64) << 32 | b as u64
}

/// Maximum number of nodes in all cached trees.
const MAX_CACHED: usize = 4_000_000;

/// A breadth-first search through switches from one node, continued as far as callers need.
#[derive(Debug)]
struct Tree {
    /// Nodes in the order in which they were reached.
    queue: Vec<usize>,
    /// The node from which each node was reached.
    before: Numbers,
    /// Position of each node that was taken from the queue.
    taken: Numbers,
}

/// Finds routes through switches; among routes with equally many hops, earlier links win.
#[derive(Debug)]
pub(crate) struct ShortestRoutes {
    /// Neighbours of each node, in the order of links.
    neighbours: Vec<Vec<usize>>,
    /// Switches among the neighbours.
    switches: Vec<Vec<usize>>,
    trees: Vec<Tree>,
    /// Number of the tree of each root.
    tree_of: Numbers,
    /// Routes from the root of a tree to the only neighbour of a host.
    inner: Vec<Vec<usize>>,
    /// Number of the route from one node to another in `inner`.
    inner_of: Numbers,
}

impl ShortestRoutes {
    pub(crate) fn new(is_switch: &[bool], neighbours: Vec<Vec<usize>>) -> ShortestRoutes {
        let switches = neighbours
            .iter()
            .map(|nodes| nodes.iter().copied().filter(|node| is_switch[*node]).collect())
            .collect();
        ShortestRoutes {
            neighbours,
            switches,
            trees: vec![],
            tree_of: Numbers::new(),
            inner: vec![],
            inner_of: Numbers::new(),
        }
    }

    /// Returns the nodes from one host to another; None if there is no route.
    pub(crate) fn find(&mut self, first: usize, last: usize) -> Option<Vec<usize>> {
        // Hosts with a single link share the tree of the switch behind it.
        let root = match self.neighbours[first][..] {
            [only] if !self.switches[first].is_empty() => only,
            _ => first,
        };
        let ends = match self.neighbours[last][..] {
            [only] => Some((root, only)),
            _ => None,
        };
        let known = ends.and_then(|ends| self.inner_of.get(&key(ends.0, ends.1)).copied());
        let inner = match known {
            Some(number) => self.inner[number].clone(),
            None => {
                let inner = self.route_before(root, last)?;
                if let Some(ends) = ends {
                    self.inner_of.insert(key(ends.0, ends.1), self.inner.len());
                    self.inner.push(inner.clone());
                }
                inner
            }
        };
        let head = (root != first).then_some(first);
        Some(head.into_iter().chain(inner).chain([last]).collect())
    }

    /// Returns the nodes from a root to the neighbour of `last`; None if there is no route.
    fn route_before(&mut self, root: usize, last: usize) -> Option<Vec<usize>> {
        let number = match self.tree_of.get(&key(root, 0)) {
            Some(number) => *number,
            None => {
                if self.trees.len() * self.switches.len() >= MAX_CACHED {
                    self.trees.clear();
                    self.tree_of.clear();
                }
                self.trees.push(Tree {
                    queue: vec![root],
                    before: Numbers::from([(key(root, 0), root)]),
                    taken: Numbers::new(),
                });
                self.tree_of.insert(key(root, 0), self.trees.len() - 1);
                self.trees.len() - 1
            }
        };
        let tree = &mut self.trees[number];
        let mut here = tree.reach(&self.neighbours[last], &self.switches)?;
        let mut route = vec![here];
        while here != root {
            here = tree.before[&key(here, 0)];
            route.push(here);
        }
        route.reverse();
        Some(route)
    }
}

impl Tree {
    /// Returns the first of these nodes that the search takes.
    fn reach(&mut self, ends: &[usize], switches: &[Vec<usize>]) -> Option<usize> {
        let known = ends
            .iter()
            .filter_map(|end| self.taken.get(&key(*end, 0)).map(|place| (*place, *end)));
        if let Some((_, end)) = known.min() {
            return Some(end);
        }
        let mut wanted = Numbers::new();
        for end in ends {
            wanted.insert(key(*end, 0), *end);
        }
        while self.taken.len() < self.queue.len() {
            let here = self.queue[self.taken.len()];
            self.taken.insert(key(here, 0), self.taken.len());
            for neighbour in &switches[here] {
                let reached = self.before.contains_key(&key(*neighbour, 0));
                if !reached {
                    self.before.insert(key(*neighbour, 0), here);
                    self.queue.push(*neighbour);
                }
            }
            if wanted.contains_key(&key(here, 0)) {
                return Some(here);
            }
        }
        None
    }
}
