//! Destination host and circuit of real packets.

use crate::headers::FlowKey;
use std::collections::HashMap;
use std::net::IpAddr;

/// Maximum number of flows that have an entry of their own; other flows are hashed.
const KNOWN_FLOWS: usize = 1 << 16;

/// External flows between two hosts; real flows are assigned to them in order of appearance.
#[derive(Clone, Copy, Debug)]
pub struct FlowPool {
    /// Host numbers of each flow's sender and receiver.
    pub ends: [usize; 2],
    /// First flow.
    pub first: u32,
    /// Number of flows.
    pub flows: u32,
}

/// Route of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destination host.
    pub to: usize,
    /// Circuit that leads to the destination.
    pub circuit: u32,
}

/// All routes between the hosts, and the known flows.
#[derive(Debug)]
pub struct Routes {
    by_address: HashMap<IpAddr, usize>,
    /// Host to which packets are routed if no host has their destination address.
    outside: Option<usize>,
    /// External flows, indexed by source and destination host. The flag is true for the direction from a flow's
    /// receiver to its sender.
    pools: Vec<Vec<Option<(FlowPool, bool)>>>,
    /// Numbers of the known flows.
    flows: HashMap<FlowKey, u32>,
    /// Cache of each host's last packet: its flow and its route.
    last: Vec<Option<(FlowKey, Route)>>,
}

impl Routes {
    /// Creates the routes between hosts with these addresses.
    pub fn new(addresses: &[Vec<IpAddr>], pools: &[FlowPool], outside: Option<usize>) -> Routes {
        let hosts = addresses.len();
        let mut table = vec![vec![None; hosts]; hosts];
        for &pool in pools {
            let [from, to] = pool.ends;
            table[from][to] = Some((pool, false));
            table[to][from] = Some((pool, true));
        }
        let host_by_address = |(host, of_host): (usize, &Vec<IpAddr>)| -> Vec<_> {
            of_host.iter().map(|&address| (address, host)).collect()
        };
        Routes {
            by_address: addresses.iter().enumerate().flat_map(host_by_address).collect(),
            outside,
            pools: table,
            flows: HashMap::new(),
            last: vec![None; hosts],
        }
    }

    /// Returns the route of a packet that a host has sent; None if there is no route.
    pub fn find(&mut self, from: usize, flow: FlowKey) -> Option<Route> {
        if let Some((_, route)) = self.last[from].filter(|(last, _)| *last == flow) {
            return Some(route);
        }
        let to = self.by_address.get(&flow.to).copied().or(self.outside)?;
        // Circuits 2 n and 2 n + 1 are the directions of flow n.
        let (pool, is_back) = self.pools[from][to]?;
        let circuit = 2 * (pool.first + self.number_of(flow) % pool.flows) + u32::from(is_back);
        let route = Route { to, circuit };
        self.last[from] = Some((flow, route));
        Some(route)
    }

    /// Returns the number of a flow, which is the same in both directions. Flows are numbered in order of appearance.
    fn number_of(&mut self, flow: FlowKey) -> u32 {
        let back = flow.reversed();
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
    fn flows_are_spread_over_the_pool_and_return_on_the_same_flow() {
        let pool = FlowPool {
            ends: [0, 1],
            first: 5,
            flows: 2,
        };
        let mut routes = Routes::new(&[vec![address(1)], vec![address(2)], vec![address(3)]], &[pool], None);
        let route = |circuit| Some(Route { to: 1, circuit });
        let back = |circuit| Some(Route { to: 0, circuit });
        assert_eq!(routes.find(0, flow(1, 2, [0, 1, 0, 80])), route(10));
        assert_eq!(routes.find(0, flow(1, 2, [0, 1, 0, 80])), route(10));
        assert_eq!(routes.find(1, flow(2, 1, [0, 80, 0, 1])), back(11));
        assert_eq!(routes.find(0, flow(1, 2, [0, 2, 0, 80])), route(12));
        assert_eq!(routes.find(1, flow(2, 1, [0, 80, 0, 1])), back(11));
        assert_eq!(routes.find(0, flow(1, 2, [0, 3, 0, 80])), route(10));
        assert_eq!(routes.find(0, flow(1, 3, [0, 1, 0, 80])), None);
        assert_eq!(routes.find(0, flow(1, 9, [0, 1, 0, 80])), None);
    }

    #[test]
    fn unknown_addresses_are_routed_outside() {
        let pool = FlowPool {
            ends: [0, 1],
            first: 0,
            flows: 1,
        };
        let mut routes = Routes::new(&[vec![address(1)], vec![address(2)]], &[pool], Some(1));
        let found = routes.find(0, flow(1, 200, [0; 4]));
        assert_eq!(found, Some(Route { to: 1, circuit: 0 }));
    }
}
