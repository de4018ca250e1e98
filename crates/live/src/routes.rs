//! Which host a real packet is for, and on which circuit of the path it gets there.

use crate::headers::FlowKey;
use std::collections::HashMap;
use std::net::IpAddr;

/// Flows told apart, at most; all others are told apart by a hash.
const KNOWN_FLOWS: usize = 1 << 16;

/// Foreign flows between two hosts, over which real flows are spread as they come.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The flows' sender and receiver, by number of the host.
    pub ends: [usize; 2],
    /// The first of them.
    pub first: u32,
    /// How many.
    pub flows: u32,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The host that it is for.
    pub to: usize,
    /// The circuit that leads there.
    pub circuit: u32,
}

/// All ways between the hosts, and the flows seen so far.
#[derive(Debug)]
pub struct Routes {
    by_address: HashMap<IpAddr, usize>,
    /// The host that is the way to all addresses that no host has.
    outside: Option<usize>,
    /// By host from which and to which; the flag says that it leads from a flow's receiver to its sender.
    ways: Vec<Vec<Option<(Way, bool)>>>,
    flows: HashMap<FlowKey, u32>,
    /// Of each host's last packet, as the next one is mostly of the same flow.
    last: Vec<Option<(FlowKey, Route)>>,
}

impl Routes {
    /// Between hosts with these addresses.
    pub fn new(addresses: &[Vec<IpAddr>], ways: &[Way], outside: Option<usize>) -> Routes {
        let hosts = addresses.len();
        let mut table = vec![vec![None; hosts]; hosts];
        for &way in ways {
            let [from, to] = way.ends;
            table[from][to] = Some((way, false));
            table[to][from] = Some((way, true));
        }
        let of = |(host, all): (usize, &Vec<IpAddr>)| -> Vec<_> { all.iter().map(|&one| (one, host)).collect() };
        Routes {
            by_address: addresses.iter().enumerate().flat_map(of).collect(),
            outside,
            ways: table,
            flows: HashMap::new(),
            last: vec![None; hosts],
        }
    }

    /// Where a packet of this flow goes that a host has sent; none if no way leads there.
    pub fn find(&mut self, from: usize, flow: FlowKey) -> Option<Route> {
        if let Some((_, route)) = self.last[from].filter(|(last, _)| *last == flow) {
            return Some(route);
        }
        let to = self.by_address.get(&flow.to).copied().or(self.outside)?;
        let (way, back) = self.ways[from][to]?;
        let circuit = 2 * (way.first + self.number_of(flow) % way.flows) + u32::from(back);
        let route = Route { to, circuit };
        self.last[from] = Some((flow, route));
        Some(route)
    }

    /// A flow's number: the same both ways, in the order in which they come.
    fn number_of(&mut self, flow: FlowKey) -> u32 {
        let [a, b, c, d] = flow.ports;
        let back = FlowKey {
            from: flow.to,
            to: flow.from,
            ports: [c, d, a, b],
            ..flow
        };
        if let Some(&number) = self.flows.get(&flow).or_else(|| self.flows.get(&back)) {
            return number;
        }
        if self.flows.len() >= KNOWN_FLOWS {
            return u32::from_be_bytes(flow.ports) ^ u32::from_be_bytes(back.ports);
        }
        let number = self.flows.len() as u32;
        self.flows.insert(flow, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn flow(from: u8, to: u8, ports: [u8; 4]) -> FlowKey {
        FlowKey {
            from: address(from),
            to: address(to),
            protocol: 6,
            ports,
        }
    }

    #[test]
    fn flows_are_spread_over_those_of_the_way_and_come_back_on_the_same_one() {
        let way = Way {
            ends: [0, 1],
            first: 5,
            flows: 2,
        };
        let mut routes = Routes::new(&[vec![address(1)], vec![address(2)], vec![address(3)]], &[way], None);
        let there = |circuit| Some(Route { to: 1, circuit });
        let back = |circuit| Some(Route { to: 0, circuit });
        assert_eq!(routes.find(0, flow(1, 2, [0, 1, 0, 80])), there(10));
        assert_eq!(routes.find(0, flow(1, 2, [0, 1, 0, 80])), there(10));
        assert_eq!(routes.find(1, flow(2, 1, [0, 80, 0, 1])), back(11));
        assert_eq!(routes.find(0, flow(1, 2, [0, 2, 0, 80])), there(12));
        assert_eq!(routes.find(1, flow(2, 1, [0, 80, 0, 1])), back(11));
        assert_eq!(routes.find(0, flow(1, 2, [0, 3, 0, 80])), there(10));
        assert_eq!(routes.find(0, flow(1, 3, [0, 1, 0, 80])), None);
        assert_eq!(routes.find(0, flow(1, 9, [0, 1, 0, 80])), None);
    }

    #[test]
    fn addresses_of_nobody_are_outside() {
        let way = Way {
            ends: [0, 1],
            first: 0,
            flows: 1,
        };
        let mut routes = Routes::new(&[vec![address(1)], vec![address(2)]], &[way], Some(1));
        let found = routes.find(0, flow(1, 200, [0; 4]));
        assert_eq!(found, Some(Route { to: 1, circuit: 0 }));
    }
}
