//! Numbers of the nodes, links and flows of a dumbbell that are copies of those of the first flow of each group.

use crate::input::{Graph, Group};

/// Position of the copies of a row (a node, link or flow of the graph) among all rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Position of the first copy.
    pub(crate) first: usize,
    /// Distance between copies; 0 for a row outside of groups, which has no copies.
    pub(crate) step: usize,
}

impl Place {
    /// Returns the position of a copy.
    pub(crate) fn of_copy(self, copy: usize) -> usize {
        self.first + copy * self.step
    }
}

/// Numbers of the copies of a graph's nodes, links and flows.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    pub(crate) groups: Vec<Group>,
    /// Number of the first flow of each group.
    pub(crate) firsts: Vec<usize>,
    /// Group of each node, duplex link and flow.
    pub(crate) of_node: Vec<Option<usize>>,
    pub(crate) of_link: Vec<Option<usize>>,
    pub(crate) of_flow: Vec<Option<usize>>,
    nodes: Vec<Place>,
    links: Vec<Place>,
    pub(crate) flows: Vec<Place>,
}

impl Copies {
    /// Returns the numbers of copies of a graph; `parts` contains the number of each part's flow.
    pub(crate) fn new(graph: &Graph, ends: &[[usize; 2]], parts: impl Iterator<Item = usize>) -> Copies {
        let groups = graph
            .dumbbell
            .as_ref()
            .map(|dumbbell| dumbbell.all_groups())
            .unwrap_or_default();
        let mut of_node = vec![None; graph.nodes.len()];
        for group in 0..groups.len() {
            of_node[group] = Some(group);
            of_node[groups.len() + SWITCHES + group] = Some(group);
        }
        // A link of a host belongs to the host's group, and each part of a connection to its flow's group.
        let of_link: Vec<Option<usize>> = ends.iter().map(|[a, b]| of_node[*a].or(of_node[*b])).collect();
        let of_flow: Vec<Option<usize>> = parts.map(|flow| (!groups.is_empty()).then_some(flow)).collect();
        let mut end = 0;
        let firsts = groups.iter().map(|group| {
            end += group.count;
            end - group.count
        });
        let firsts = firsts.collect();
        let places = |of: &[Option<usize>]| places(of, &groups);
        let (nodes, links, flows) = (places(&of_node), places(&of_link), places(&of_flow));
        Copies {
            groups,
            firsts,
            of_node,
            of_link,
            of_flow,
            nodes,
            links,
            flows,
        }
    }

    /// Returns the number of copies of a row of a group.
    pub(crate) fn count(&self, group: Option<usize>) -> usize {
        group.map_or(1, |group| self.groups[group].count)
    }

    /// Returns the links of a copy's route.
    pub(crate) fn route(&self, route: &[usize], copy: usize) -> Vec<usize> {
        // Directed links 2 n and 2 n + 1 are the directions of link n.
        let copied = |link: &usize| 2 * self.links[link / 2].of_copy(copy) + link % 2;
        route.iter().map(copied).collect()
    }

    /// Returns all links as (first node, second node, number of the fields), given those of the graph in the same form.
    pub(crate) fn links(&self, rows: &[(usize, usize, usize)]) -> Vec<(usize, usize, usize)> {
        let mut all = Vec::with_capacity(rows.len());
        for ((a, b, fields), group) in rows.iter().zip(&self.of_link) {
            for copy in 0..self.count(*group) {
                let node = |node: &usize| self.nodes[*node].of_copy(copy);
                all.push((node(a), node(b), *fields));
            }
        }
        all
    }
}

/// Number of nodes of a dumbbell between its sources and its sinks.
const SWITCHES: usize = 2;

/// Returns the positions of rows, given the group of each.
fn places(of: &[Option<usize>], groups: &[Group]) -> Vec<Place> {
    let mut next = 0;
    let places = of.iter().map(|group| {
        let first = next;
        next += group.map_or(1, |group| groups[group].count);
        Place {
            first,
            step: usize::from(group.is_some()),
        }
    });
    places.collect()
}
