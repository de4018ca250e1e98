//! Routes of fewest hops between hosts.
//!
//! A search is a breadth-first search from a root: the only neighbor of the first host, or the host itself if it has
//! several links. All hosts behind a switch therefore share one search, which continues as far as a route needs. The inner
//! part of a route, from the root to the only neighbor of the last host, is also shared.

use std::collections::HashMap;

/// Numbers by node, or by pair of nodes (`key`). All maps have this type, because the lab's page would contain the code of
/// each further type.
pub(crate) type Numbers = HashMap<u64, usize>;

/// Returns the key of a pair of nodes; maps by node use the pair of the node and 0.
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
    /// Node from which each node was reached; the root is its own parent.
    parents: Numbers,
    /// Position in `queue` of each node whose neighbors have been searched: these are the first `visited.len()` nodes of
    /// the queue, so the search continues at that position.
    visited: Numbers,
}

/// Finds routes through switches; among routes with equally many hops, earlier links win.
#[derive(Debug)]
pub(crate) struct ShortestRoutes {
    /// Neighbors of each node, in the order of links.
    neighbors: Vec<Vec<usize>>,
    /// Switches among the neighbors.
    switches: Vec<Vec<usize>>,
    trees: Vec<Tree>,
    /// Number of the tree of each root.
    tree_of: Numbers,
    /// Routes from the root of a tree to the only neighbor of a host.
    inner: Vec<Vec<usize>>,
    /// Number of the route from one node to another in `inner`.
    inner_number: Numbers,
}

impl ShortestRoutes {
    /// Creates a search over nodes, of which `is_switch` forward packets, with the neighbors of each node.
    pub(crate) fn new(is_switch: &[bool], neighbors: Vec<Vec<usize>>) -> ShortestRoutes {
        let switches = neighbors
            .iter()
            .map(|nodes| nodes.iter().copied().filter(|node| is_switch[*node]).collect())
            .collect();
        ShortestRoutes {
            neighbors,
            switches,
            trees: vec![],
            tree_of: Numbers::new(),
            inner: vec![],
            inner_number: Numbers::new(),
        }
    }

    /// Returns the nodes from one host to another; None if there is no route.
    pub(crate) fn find(&mut self, first: usize, last: usize) -> Option<Vec<usize>> {
        // Hosts with a single link share the tree of the switch behind it.
        let root = match self.neighbors[first][..] {
            [only] if !self.switches[first].is_empty() => only,
            _ => first,
        };
        let ends = match self.neighbors[last][..] {
            [only] => Some((root, only)),
            _ => None,
        };
        let cached = ends.and_then(|(root, only)| self.inner_number.get(&key(root, only)).copied());
        let inner = match cached {
            Some(number) => self.inner[number].clone(),
            None => {
                let inner = self.route_before(root, last)?;
                if let Some((root, only)) = ends {
                    self.inner_number.insert(key(root, only), self.inner.len());
                    self.inner.push(inner.clone());
                }
                inner
            }
        };
        let head = (root != first).then_some(first);
        Some(head.into_iter().chain(inner).chain([last]).collect())
    }

    /// Returns the nodes from a root to the neighbor of `last`; None if there is no route.
    fn route_before(&mut self, root: usize, last: usize) -> Option<Vec<usize>> {
        let tree_number = match self.tree_of.get(&key(root, 0)) {
            Some(number) => *number,
            None => {
                if self.trees.len() * self.switches.len() >= MAX_CACHED {
                    self.trees.clear();
                    self.tree_of.clear();
                }
                self.trees.push(Tree {
                    queue: vec![root],
                    parents: Numbers::from([(key(root, 0), root)]),
                    visited: Numbers::new(),
                });
                self.tree_of.insert(key(root, 0), self.trees.len() - 1);
                self.trees.len() - 1
            }
        };
        let tree = &mut self.trees[tree_number];
        let mut node = tree.reach(&self.neighbors[last], &self.switches)?;
        let mut route = vec![node];
        while node != root {
            node = tree.parents[&key(node, 0)];
            route.push(node);
        }
        route.reverse();
        Some(route)
    }
}

impl Tree {
    /// Returns the node of `ends` that the search visits first; None if it reaches none of them. Continues the search if
    /// it has visited none of them so far.
    fn reach(&mut self, ends: &[usize], switches: &[Vec<usize>]) -> Option<usize> {
        let visited = ends
            .iter()
            .filter_map(|end| self.visited.get(&key(*end, 0)).map(|position| (*position, *end)));
        if let Some((_, end)) = visited.min() {
            return Some(end);
        }
        let mut targets = Numbers::new();
        for end in ends {
            targets.insert(key(*end, 0), *end);
        }
        while self.visited.len() < self.queue.len() {
            let node = self.queue[self.visited.len()];
            self.visited.insert(key(node, 0), self.visited.len());
            for neighbor in &switches[node] {
                let is_reached = self.parents.contains_key(&key(*neighbor, 0));
                if !is_reached {
                    self.parents.insert(key(*neighbor, 0), node);
                    self.queue.push(*neighbor);
                }
            }
            if targets.contains_key(&key(node, 0)) {
                return Some(node);
            }
        }
        None
    }
}
