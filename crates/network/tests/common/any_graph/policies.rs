//! Random policies of ports: queue disciplines for IP packets, and policies for cells.

use super::described::Scale;
use longpipe_network::scenario::{Framing, PolicyConfig};
use longpipe_tcp::described::{kinds, Part};
use proptest::prelude::*;

/// Minimum number of classes, which is that of the flows.
const CLASSES: u32 = 3;

/// Numbers that select the policy and its parameters.
#[derive(Clone, Debug)]
pub struct PolicyDraft {
    kind: u8,
    seed: u32,
}

/// Strategy: a policy.
pub fn any_policy() -> impl Strategy<Value = PolicyDraft> {
    (any::<u8>(), any::<u32>()).prop_map(|(kind, seed)| PolicyDraft { kind, seed })
}

impl PolicyDraft {
    /// Returns the policy for a port of the given scale.
    pub fn build(&self, scale: &Scale, framing: Framing) -> PolicyConfig {
        let kinds: Vec<(&'static str, Part)> = PolicyConfig::kinds()
            .zip(kinds::<PolicyConfig>())
            .filter(|((_, facts), _)| match framing {
                Framing::Aal5 => facts.cells,
                Framing::Ip => facts.packets,
            })
            .map(|(_, kind)| kind)
            .collect();
        let kind = &kinds[usize::from(self.kind) % kinds.len()];
        scale.draw(kind, self.seed.into(), |policy: &PolicyConfig| {
            let exists = match framing {
                Framing::Aal5 => policy.takes_cells(),
                Framing::Ip => policy.takes_packets(),
            };
            exists && policy.problem().is_none() && policy.classes().is_none_or(|classes| classes >= CLASSES)
        })
    }
}
