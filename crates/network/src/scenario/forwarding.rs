//! Checks of connections that are split by a proxy.

use super::refusal::{refuse, ScenarioError};
use super::{FlowConfig, Scenario};
use crate::traffic::parameters::Transport;

/// Checks that a flow is compatible with the flow that forwards its data.
pub(super) fn check(scenario: &Scenario, index: usize, flow: &FlowConfig) -> Result<(), ScenarioError> {
    let field = |name: &str| format!("flows[{index}].{name}");
    if flow.relayed {
        let sources = scenario.flows.iter().filter_map(|other| other.onward);
        let sources = sources.filter(|onward| onward.flow == index).count();
        if sources != 1 {
            return refuse(
                field("relayed"),
                format!("{sources} flows are forwarded over it"),
                "needs one",
            );
        }
    }
    let Some(onward) = flow.onward else { return Ok(()) };
    let Some(next) = scenario.flows.get(onward.flow).filter(|next| next.relayed) else {
        return refuse(
            field("onward.flow"),
            onward.flow,
            "needs the index of a flow with relayed = true",
        );
    };
    let is_over_tcp = flow.traffic.facts().transport == Transport::Tcp && !flow.foreign && !next.foreign;
    if !is_over_tcp || next.traffic != flow.traffic {
        return refuse(
            field("onward"),
            onward.flow,
            "needs two flows of equal traffic over TCP",
        );
    }
    let end = |route: &[usize]| {
        route
            .last()
            .and_then(|&link| scenario.links.get(link))
            .map(|link| link.to)
    };
    let begin = |route: &[usize]| {
        route
            .first()
            .and_then(|&link| scenario.links.get(link))
            .map(|link| link.from)
    };
    if end(&flow.route) != begin(&next.route) {
        return refuse(
            field("onward.flow"),
            onward.flow,
            "needs a flow that begins where this one ends",
        );
    }
    let mut at = onward.flow;
    for _ in 0..scenario.flows.len() {
        match scenario.flows.get(at).and_then(|flow| flow.onward) {
            Some(next) if next.flow != index => at = next.flow,
            Some(_) => {
                return refuse(
                    field("onward.flow"),
                    onward.flow,
                    "needs a chain of flows without a loop",
                )
            }
            None => break,
        }
    }
    // With a smaller buffer, the window could never open by a whole segment while another segment is in flight.
    let min = 2 * u64::from(flow.tcp.mss_bytes);
    if !(min..=1 << 40).contains(&onward.buffer_bytes) {
        return refuse(
            field("onward.buffer"),
            onward.buffer_bytes,
            format!("needs two full segments ({min} bytes) to 1 TiB"),
        );
    }
    Ok(())
}
