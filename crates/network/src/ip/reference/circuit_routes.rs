//! The routes of a circuit. At each hop, the route that is valid when the packet arrives there determines the next
//! link.

use crate::packets::Link;
use crate::scenario::rerouting::RerouteInFlight;
use crate::scenario::{FlowConfig, Scenario};
use longpipe_events::Time;

/// A link of a route, and the link's first node.
type Hop = (Link, usize);

/// The routes of a circuit.
#[derive(Clone, Debug)]
pub(super) struct CircuitRoutes {
    /// For each route, the time from which it is valid, and its hops. Hop numbers continue across routes.
    routes: Vec<(Time, Vec<Hop>)>,
    in_flight: RerouteInFlight,
}

impl CircuitRoutes {
    /// Creates the routes of a flow's data, or of its ACKs if `back`.
    pub fn new(scenario: &Scenario, flow: &FlowConfig, back: bool) -> CircuitRoutes {
        let own = flow.rerouting.as_ref();
        let mut instants = vec![Time::ZERO];
        instants.extend(own.iter().flat_map(|own| &own.changes).map(|change| Time(change.at_ps)));
        let hops = |way: &[usize]| {
            way.iter()
                .map(|&link| (Link::new(link), scenario.links[link].from))
                .collect()
        };
        CircuitRoutes {
            routes: instants.into_iter().zip(flow.ways(back).map(hops)).collect(),
            in_flight: own.map_or(RerouteInFlight::Keep, |own| own.in_flight),
        }
    }

    /// Returns the first link.
    pub fn first(&self) -> Link {
        self.routes[0].1[0].0
    }

    /// Returns the next link and step of a packet that arrived over `link` at the router `node`; `link` was the step
    /// before `step`. None if no route continues.
    pub fn next_hop(&self, now: Time, (link, node): (Link, usize), step: u32) -> Option<(Link, u32)> {
        let mut begins = 0;
        let mut latest = None;
        for (from, hops) in &self.routes {
            let after = (step as usize).checked_sub(begins);
            let follows = self.in_flight == RerouteInFlight::Drop || link == self.first();
            if self.routes.len() > 1 && follows {
                if *from <= now {
                    let place = hops.iter().position(|&(_, begin)| begin == node);
                    latest = place.map(|place| (hops[place].0, (begins + place) as u32));
                }
            } else if let Some(after) = after.filter(|&after| after <= hops.len()) {
                return hops.get(after).map(|&(next, _)| (next, step));
            }
            // The gap between step numbers distinguishes the routes.
            begins += hops.len() + 1;
        }
        latest
    }
}
