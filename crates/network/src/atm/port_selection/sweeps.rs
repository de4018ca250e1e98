//! Selects the sweep ports, and connects them.
//!
//! The circuits of a sweep port lead from a host's interface through sweep ports only, until they reach ports that
//! cannot queue; no port downstream of those ports can queue either. The sweep ports form no cycle. The run must be
//! untraced, because cells are processed after their arrival.

use crate::atm::port::sweep::{Input, NextHop, Stream, SweepParameters, SweepPort, SweepVc};
use crate::atm::port_selection::Plan;
use crate::atm::sweeps::{Reach, Route, Sweeps, UpstreamPort};
use crate::packets::{Circuit, Link};
use crate::scenario::Framing;
use crate::slots::{GridSums, SlotGrid};
use longpipe_events::Span;
use std::collections::BTreeMap;
use std::sync::Arc;

/// For each link, whether its port sweeps, and whether the port is downstream of a sweep port and cannot queue.
pub(super) struct Swept {
    pub ports: Vec<bool>,
    pub behind: Vec<bool>,
}

/// Sums of slot starts, shared by ports with equal slot grids.
#[derive(Default)]
struct AllSums(Vec<Arc<GridSums>>);

impl AllSums {
    fn of(&mut self, grid: SlotGrid) -> Arc<GridSums> {
        let known = self.0.iter().find(|sums| sums.grid() == grid).cloned();
        known.unwrap_or_else(|| {
            let sums = Arc::new(GridSums::new(grid));
            self.0.push(Arc::clone(&sums));
            sums
        })
    }
}

impl Plan<'_> {
    /// Returns the sweep ports, given the ports that use trains.
    pub(super) fn swept(&self, trains: &[bool]) -> Swept {
        let links = || 0..self.scenario.links.len();
        let passes = |link: usize| {
            let behind =
                |&(_, step): &(Circuit, u32)| self.topology.route(step + 1).all(|(_, next)| self.transit[next]);
            self.transit[link] && self.circuits[link].iter().all(behind)
        };
        let may = self.scenario.takes_shortcuts() && self.unwatched && self.scenario.framing == Framing::Aal5;
        let passes: Vec<bool> = links().map(passes).collect();
        // The events of sweep ports and of ports with a queue per VC have the same actors.
        let may = may && !links().any(|link| self.has_queue_per_vc(link));
        let alone = |link: usize| {
            !self.circuits[link].is_empty() && self.is_static(link) && !self.carries_vbr(link) && !self.acts(link)
        };
        let sweeps = |link: usize| may && self.is_port(link) && !trains[link] && !passes[link] && alone(link);
        let mut ports: Vec<bool> = links().map(sweeps).collect();
        loop {
            let before = ports.clone();
            for (_, first) in self
                .topology
                .circuits()
                .take(Circuit::of_flows(self.scenario.flows.len()))
            {
                let route = || self.topology.route(first).skip(1).map(|(_, link)| link);
                let interface = self.topology.steps[first as usize].link.index();
                if !self.is_static(interface) || !route().all(|link| ports[link] || (passes[link] && alone(link))) {
                    route().for_each(|link| ports[link] = false);
                }
            }
            for link in self.in_cycles(&ports) {
                ports[link] = false;
            }
            if ports == before {
                break;
            }
        }
        let behind = |link: usize| passes[link] && self.receives_from(link, &ports);
        let behind = links().map(behind).collect();
        Swept { ports, behind }
    }

    /// Returns whether a link has circuits and each circuit passes through at least one of `ports`.
    fn receives_from(&self, link: usize, ports: &[bool]) -> bool {
        let over = |&(vc, _): &(Circuit, u32)| {
            let mut route = self.topology.route(self.topology.first_step(vc));
            route.any(|(_, link)| ports[link])
        };
        !self.circuits[link].is_empty() && self.circuits[link].iter().all(over)
    }

    /// Returns the ports that are part of a cycle, or downstream of one.
    fn in_cycles(&self, ports: &[bool]) -> Vec<usize> {
        let mut open: Vec<usize> = (0..ports.len()).filter(|&link| ports[link]).collect();
        loop {
            let fed = |link: &usize| self.inputs[*link].iter().any(|input| open.contains(input));
            let still: Vec<usize> = open.iter().copied().filter(fed).collect();
            if still.len() == open.len() {
                return still;
            }
            open = still;
        }
    }

    /// Builds all sweep ports in the idle state.
    pub fn sweeps(&self, swept: &[bool]) -> Sweeps {
        let links: Vec<usize> = (0..swept.len()).filter(|&link| swept[link]).collect();
        let number = |link: usize| links.binary_search(&link).ok();
        let mut all_sums = AllSums::default();
        let mut streams = Vec::new();
        let mut stream_of = BTreeMap::new();
        for (port, &link) in links.iter().enumerate() {
            for (input, &from) in self.inputs[link].iter().enumerate() {
                stream_of.insert((from, link), streams.len() as u32);
                streams.push(Stream::new(port as u32, input as u32));
            }
        }
        let ports = links.iter().map(|&link| {
            let inputs = self.inputs[link].iter().map(|&from| {
                Input::new(
                    stream_of[&(from, link)],
                    Link::new(from),
                    self.topology.ends[from],
                    Span(self.scenario.links[from].delay_ps),
                    all_sums.of(self.topology.grids[from]),
                    &self.topology.grids[link],
                )
            });
            let vcs = self.circuits[link].iter().map(|&(vc, step)| {
                let next = self.topology.route(step + 1).next();
                let next_hop = next
                    .filter(|&(_, next)| swept[next])
                    .map_or(NextHop::Host, |(step, next)| {
                        let local = self.topology.steps[step as usize].local;
                        NextHop::Port(stream_of[&(link, next)], local)
                    });
                SweepVc::new(vc, next_hop)
            });
            let (inputs, vcs) = (inputs.collect(), vcs.collect());
            let config = &self.scenario.links[link];
            SweepPort::new(SweepParameters {
                link: Link::new(link),
                sums: all_sums.of(self.topology.grids[link]),
                delay: Span(config.delay_ps),
                capacity: config.buffer.map(|buffer| buffer.limit),
                policy: self.policy(link),
                loss: self.loss(link),
                ties: self.ties,
                vcs,
                inputs,
                horizon: self.horizon(link),
            })
        });
        let ports = ports.collect();
        let reaches = links.iter().map(|&link| self.reach(link, swept, &number)).collect();
        let routes = self
            .topology
            .circuits()
            .take(Circuit::of_flows(self.scenario.flows.len()));
        let routes = routes.map(|(_, first)| {
            let own = |&(_, link): &(u32, usize)| swept[link];
            let (step, link) = self.topology.route(first).nth(1).filter(own)?;
            let (last_step, last) = self.topology.route(step).take_while(own).last()?;
            Some(Box::new(Route::new(
                stream_of[&(self.topology.steps[first as usize].link.index(), link)],
                self.topology.steps[step as usize].local,
                number(last)? as u32,
                self.topology.route(step).map(|(_, link)| self.crossing(link)).sum(),
                last_step + 1,
            )))
        });
        Sweeps::new(ports, reaches, streams, routes.collect())
    }

    /// Returns the minimum time [ps] of a cell from its arrival at a link's port or interface to the end of the link.
    fn crossing(&self, link: usize) -> u64 {
        self.topology.ends[link].cell + self.scenario.links[link].delay_ps
    }

    /// Returns the ports upstream of a port, and the minimum distance to the hosts of its circuits.
    fn reach(&self, link: usize, swept: &[bool], number: &impl Fn(usize) -> Option<usize>) -> Reach {
        let feeders = |link: usize| self.inputs[link].iter().copied().filter(|&input| swept[input]);
        let before = |link: usize, latency: u64| UpstreamPort {
            port: number(link).map_or(u32::MAX, |port| port as u32),
            latency,
        };
        let mut closure = BTreeMap::from([(link, 0)]);
        let mut open = vec![link];
        while let Some(at) = open.pop() {
            for input in feeders(at) {
                let latency = closure[&at] + self.crossing(input);
                if closure.get(&input).is_none_or(|&known| latency < known) {
                    closure.insert(input, latency);
                    open.push(input);
                }
            }
        }
        let outlook = closure.iter().flat_map(|(&port, &latency)| {
            let hosts = self.inputs[port].iter().filter(|&&input| !swept[input]);
            hosts.map(move |&input| latency + self.crossing(input))
        });
        let ack_lookahead = self.circuits[link].iter().filter_map(|&(_, step)| {
            let mut rest = self.topology.route(step + 1).map(|(_, next)| next).peekable();
            let last = rest.peek().is_none_or(|&next| !swept[next]);
            last.then(|| self.crossing(link) + rest.map(|next| self.crossing(next)).sum::<u64>())
        });
        Reach::new(
            feeders(link).map(|input| before(input, self.crossing(input))).collect(),
            closure.iter().map(|(&port, &latency)| before(port, latency)).collect(),
            outlook.min().unwrap_or(1),
            ack_lookahead.min().unwrap_or(u64::MAX),
        )
    }
}
