//! Routes through a graph: the shortest one, or any that visits no node twice.

use super::graph::Graph;
use longpipe_events::Stream;
use longpipe_network::scenario::{LinkConfig, NodeKind};
use std::collections::VecDeque;

/// Returns a route through switches between two hosts: the shortest one if `number` is 0, otherwise any simple route.
pub fn route(graph: &Graph, from: usize, to: usize, number: u16) -> Option<Vec<usize>> {
    if number == 0 {
        return shortest(graph, from, to);
    }
    let mut walk = Walk {
        graph,
        to,
        stream: Stream::new(u64::from(number), "any-route", 0),
        visited: vec![false; graph.nodes.len()],
        links: vec![],
    };
    walk.visited[from] = true;
    walk.go_on(from).then_some(walk.links)
}

/// Returns a route over a random number of switches, which may be visited repeatedly, followed by the shortest route to
/// the end. The route may return to its start.
pub fn wandering(graph: &Graph, from: usize, to: usize, number: u16) -> Option<Vec<usize>> {
    let mut stream = Stream::new(u64::from(number), "any-wandering", 0);
    let mut links = vec![];
    let mut here = from;
    for _ in 0..=stream.below(4) {
        let leaving = graph
            .links
            .iter()
            .enumerate()
            .filter(|(_, link)| link.from == here && graph.nodes[link.to].kind == NodeKind::Switch);
        let leaving: Vec<usize> = leaving.map(|(at, _)| at).collect();
        let Some(&link) = leaving.get(stream.below(leaving.len() as u64) as usize) else {
            break;
        };
        links.push(link);
        here = graph.links[link].to;
    }
    links.extend(shortest(graph, here, to)?);
    Some(links)
}

/// Returns the reverse of a route if each of its links is stored next to the link's reverse.
pub fn reversed(links: &[LinkConfig], route: &[usize]) -> Option<Vec<usize>> {
    let back = |&link: &usize| {
        let ends = (links[link].to, links[link].from);
        let beside = [link.checked_sub(1), Some(link + 1)].into_iter().flatten();
        let mut beside = beside.filter(|&other| other < links.len());
        beside.find(|&other| (links[other].from, links[other].to) == ends)
    };
    route.iter().rev().map(back).collect()
}

fn shortest(graph: &Graph, from: usize, to: usize) -> Option<Vec<usize>> {
    let mut came_by = vec![None; graph.nodes.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(here) = queue.pop_front() {
        for (index, link) in graph.links.iter().enumerate().filter(|(_, link)| link.from == here) {
            if link.to == from || came_by[link.to].is_some() {
                continue;
            }
            came_by[link.to] = Some(index);
            if graph.nodes[link.to].kind == NodeKind::Switch {
                queue.push_back(link.to);
            }
        }
    }
    let mut links = vec![];
    let mut at = to;
    while at != from {
        let link = came_by[at]?;
        links.push(link);
        at = graph.links[link].from;
    }
    links.reverse();
    Some(links)
}

/// A randomized depth-first search with backtracking.
struct Walk<'a> {
    graph: &'a Graph,
    to: usize,
    stream: Stream,
    visited: Vec<bool>,
    links: Vec<usize>,
}

impl Walk<'_> {
    fn go_on(&mut self, here: usize) -> bool {
        if here == self.to {
            return true;
        }
        if !self.links.is_empty() && self.graph.nodes[here].kind == NodeKind::Host {
            return false;
        }
        let leaving = self.graph.links.iter().enumerate();
        let mut leaving: Vec<usize> = leaving
            .filter(|(_, link)| link.from == here)
            .map(|(at, _)| at)
            .collect();
        while !leaving.is_empty() {
            let link = leaving.swap_remove(self.stream.below(leaving.len() as u64) as usize);
            let next = self.graph.links[link].to;
            if self.visited[next] {
                continue;
            }
            self.visited[next] = true;
            self.links.push(link);
            if self.go_on(next) {
                return true;
            }
            self.links.pop();
        }
        false
    }
}
