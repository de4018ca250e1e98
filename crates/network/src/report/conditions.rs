//! Conditions under which a run has a column of its results.

use super::table::Run;
use crate::scenario::conditioners::ConditionerConfig;
use crate::scenario::{LossConfig, PolicyConfig};

/// Returns whether a flow uses ECN.
pub(super) fn has_ecn(run: &Run<'_>) -> bool {
    run.scenario.flows.iter().any(|flow| !flow.tcp.ecn.is_off())
}

/// Returns whether a link varies over time.
pub(super) fn varies(run: &Run<'_>) -> bool {
    run.scenario.links.iter().any(|link| link.motion.is_some())
}

/// Returns whether a port with a time-varying transmitter or delay reported its losses.
pub(super) fn moves(run: &Run<'_>) -> bool {
    run.report.packet_ports.iter().any(|port| port.motion.is_some())
}

/// Returns whether a link has medium access.
pub(super) fn has_access(run: &Run<'_>) -> bool {
    run.scenario.links.iter().any(|link| link.access.is_some())
}

/// Returns whether stations wait for grants.
pub(super) fn grants(run: &Run<'_>) -> bool {
    let mut links = run.scenario.links.iter();
    links.any(|link| link.access.as_ref().is_some_and(|access| !access.contends()))
}

/// Returns whether stations repeat transmissions below IP.
pub(super) fn retransmits(run: &Run<'_>) -> bool {
    let mut links = run.scenario.links.iter();
    links.any(|link| link.access.as_ref().is_some_and(|access| access.retransmits()))
}

/// Returns whether stations contend for a medium.
pub(super) fn contends(run: &Run<'_>) -> bool {
    let mut links = run.scenario.links.iter();
    links.any(|link| link.access.as_ref().is_some_and(|access| access.contends()))
}

/// Returns whether a link has bit errors.
pub(super) fn has_bit_errors(run: &Run<'_>) -> bool {
    let mut links = run.scenario.links.iter();
    links.any(|link| matches!(link.loss, LossConfig::BitErrors { .. }))
}

/// Returns whether the route of a flow changes.
pub(super) fn reroutes(run: &Run<'_>) -> bool {
    run.scenario.flows.iter().any(|flow| flow.rerouting.is_some())
}

/// Returns whether a link has a conditioner for which `is_kind` holds.
pub(super) fn has_conditioner(run: &Run<'_>, is_kind: fn(&ConditionerConfig) -> bool) -> bool {
    run.scenario
        .links
        .iter()
        .flat_map(|link| &link.conditioners)
        .any(is_kind)
}

/// Returns whether a link duplicates packets.
pub(super) fn duplicates(run: &Run<'_>) -> bool {
    has_conditioner(run, |config| matches!(config, ConditionerConfig::Duplication(_)))
}

/// Returns whether CAKE shapes at a port.
pub(super) fn shapes(run: &Run<'_>) -> bool {
    let mut links = run.scenario.links.iter();
    links.any(|link| matches!(&link.policy, PolicyConfig::Cake(cake) if cake.rate_bps.is_some()))
}
