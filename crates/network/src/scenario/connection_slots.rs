//! Connection slots of flows that arrive, transfer their data and leave.

use super::refusal::{accept, refuse, ScenarioError};
use super::{
    ArrivalTimesConfig, FlowArrivalsConfig, FlowConfig, ForwardingConfig, Framing, Scenario, StartConfig, TrafficConfig,
};
use longpipe_events::memory;
use std::borrow::Cow;
use std::ops::Range;

/// Checks a flow whose traffic consists of arriving flows.
pub(super) fn check(scenario: &Scenario, index: usize, flow: &FlowConfig) -> Result<(), ScenarioError> {
    if !flow.traffic.facts().many_connections {
        return Ok(());
    }
    let field = |name: &str| format!("flows[{index}].{name}");
    accept(|| field("traffic"), flow.traffic.problem(&flow.tcp))?;
    if flow.foreign {
        return refuse(
            field("traffic"),
            "flow-arrivals",
            "needs a flow without external packets",
        );
    }
    if scenario.framing == Framing::Aal5 {
        return refuse(field("traffic"), "flow-arrivals", "needs framing ip");
    }
    if flow.tcp.careful_resume.uses_earlier_connections() {
        return refuse(
            field("tcp.careful_resume"),
            "previous",
            "needs off or saved for flow-arrivals",
        );
    }
    Ok(())
}

/// Connection slots of arriving flows: each slot is represented by one flow, after all flows of the scenario file.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionSlots {
    /// Index of the flow whose arriving flows use the slots.
    pub owner: usize,
    /// Flow index of each slot.
    pub flows: Range<usize>,
}

/// Returns the flow of one slot of the arriving flows of `owner`. Its traffic is of the same kind as the owner's, which
/// determines its guarantees, but it has no list of arrivals, because such a list can have millions of rows.
fn slot_flow(owner: &FlowConfig, most_active: u32) -> FlowConfig {
    FlowConfig {
        name: owner.name.clone(),
        route: owner.route.clone(),
        return_route: owner.return_route.clone(),
        tcp: owner.tcp.clone(),
        traffic: TrafficConfig::FlowArrivals(FlowArrivalsConfig {
            arrivals: ArrivalTimesConfig::List { flows_ps: vec![] },
            most_active,
            most_flows: None,
        }),
        start: StartConfig::Fixed { at_ps: 0 },
        stop: None,
        class: owner.class,
        service: owner.service.clone(),
        scalable: owner.scalable,
        foreign: false,
        onward: owner.onward,
        relayed: owner.relayed,
        rerouting: owner.rerouting.clone(),
    }
}

/// Returns the memory [byte] that the flows of all slots occupy in a scenario, excluding the heap memory of their lists
/// and strings.
pub(crate) fn connection_slot_bytes(all: &[ConnectionSlots]) -> u64 {
    memory::bytes::<FlowConfig>(all.iter().map(|slots| slots.flows.len()).sum::<usize>())
}

impl Scenario {
    /// Returns the scenario with an additional flow, after its other flows, for each slot of its arriving flows. Their
    /// `connection_slot_bytes` are counted for the memory limit before they are allocated; the caller subtracts them
    /// when it drops the scenario.
    ///
    /// # Errors
    /// Returns an error if a setting of the arriving flows is invalid, for example the number of slots.
    pub(crate) fn with_connection_slots(&self) -> Result<(Cow<'_, Scenario>, Vec<ConnectionSlots>), ScenarioError> {
        let (mut all, mut count) = (Vec::new(), self.flows.len());
        for (owner, flow) in self.flows.iter().enumerate() {
            let TrafficConfig::FlowArrivals(config) = &flow.traffic else {
                continue;
            };
            check(self, owner, flow)?;
            let flows = count..count + config.most_active as usize;
            count = flows.end;
            all.push(ConnectionSlots { owner, flows });
        }
        let mut whole = Cow::Borrowed(self);
        if !all.is_empty() {
            memory::take(connection_slot_bytes(&all));
            let flows = &mut whole.to_mut().flows;
            flows.reserve_exact(count - self.flows.len());
            for ConnectionSlots { owner, flows: slots } in &all {
                let flow = slot_flow(&self.flows[*owner], slots.len() as u32);
                let onward = flow.onward.and_then(|onward| {
                    let next = all.iter().find(|slots| slots.owner == onward.flow)?;
                    Some((next.flows.start, onward.buffer_bytes))
                });
                flows.extend((0..slots.len()).map(|slot| FlowConfig {
                    onward: onward.map(|(first, buffer_bytes)| ForwardingConfig {
                        flow: first + slot,
                        buffer_bytes,
                    }),
                    ..flow.clone()
                }));
            }
        }
        Ok((whole, all))
    }
}
