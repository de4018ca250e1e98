//! The way of a circuit, hop by hop, as it is when a packet asks.

use crate::packets::Link;
use crate::scenario::rerouting::UnderWay;
use crate::scenario::{FlowConfig, Scenario};
use longpipe_events::Time;

/// A link of a route, and the node at which it begins.
type Hop = (Link, usize);

/// The routes of a circuit.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Each with the instant from which on it is that of the moment; its hops count on from those of the routes before.
    routes: Vec<(Time, Vec<Hop>)>,
    under_way: UnderWay,
}

impl Way {
    /// That of a flow's data, or of what comes back.
    pub fn new(scenario: &Scenario, flow: &FlowConfig, back: bool) -> Way {
        let own = flow.rerouting.as_ref();
        let mut instants = vec![Time::ZERO];
        instants.extend(own.iter().flat_map(|own| &own.changes).map(|change| Time(change.at_ps)));
        let hops = |way: &[usize]| {
            way.iter()
                .map(|&link| (Link::new(link), scenario.links[link].from))
                .collect()
        };
        Way {
            routes: instants.into_iter().zip(flow.ways(back).map(hops)).collect(),
            under_way: own.map_or(UnderWay::Keep, |own| own.under_way),
        }
    }

    /// Its first link.
    pub fn first(&self) -> Link {
        self.routes[0].1[0].0
    }

    /// The link that a packet takes which came to a router, a node, over `link`, before this step, and the step that that is.
    pub fn onward(&self, now: Time, (link, node): (Link, usize), step: u32) -> Option<(Link, u32)> {
        let mut begins = 0;
        let mut found = None;
        for (from, hops) in &self.routes {
            let after = (step as usize).checked_sub(begins);
            let follows = self.under_way == UnderWay::Drop || link == self.first();
            if self.routes.len() > 1 && follows {
                if *from <= now {
                    let place = hops.iter().position(|&(_, begin)| begin == node);
                    found = place.map(|place| (hops[place].0, (begins + place) as u32));
                }
            } else if let Some(after) = after.filter(|&after| after <= hops.len()) {
                return hops.get(after).map(|&(next, _)| (next, step));
            }
            // A step beyond the last one tells routes apart.
            begins += hops.len() + 1;
        }
        found
    }
}
