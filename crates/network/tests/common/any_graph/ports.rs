//! Random ports, with buffers from one packet to unlimited, every policy, every scheduler and every kind of loss.

use super::described::Scale;
use super::policies::{any_policy, PolicyDraft};
use longpipe_events::Stream;
use longpipe_network::aal5::frame_cells;
use longpipe_network::scenario::conditioners::{problems_of_all, ConditionerConfig};
use longpipe_network::scenario::{
    BufferConfig, BufferUnit, Framing, LinkConfig, LossConfig, NodeKind, PolicyConfig, Scenario, SchedulerConfig,
    ServiceUnit,
};
use longpipe_tcp::described::{kinds, Described};
use proptest::prelude::*;

/// Draft of a port, which does not depend on the lengths of its packets.
#[derive(Clone, Debug)]
pub struct PortDraft {
    /// Multiple of the minimum buffer, and an amount added to it; None for an unlimited buffer.
    buffer: Option<(u64, u64)>,
    /// Whether the buffer is counted in packets instead of bytes; for IP packets.
    packets: bool,
    policy: Option<PolicyDraft>,
    /// Share of UBR, in thousandths; None if VBR has strict priority.
    share: Option<u16>,
    /// Whether two queues are used even without VBR.
    two_queues: bool,
    /// What VCs send at a time if each has a queue, in scenarios without VBR.
    unit_of_vcs: Option<ServiceUnit>,
    conditioners: Vec<ConditionerDraft>,
}

/// Numbers that select a conditioner and its parameters.
#[derive(Clone, Debug)]
pub struct ConditionerDraft {
    kind: u8,
    seed: u32,
}

impl ConditionerDraft {
    /// Returns the conditioner for a port of the given scale.
    fn build(&self, scale: &Scale) -> ConditionerConfig {
        let kinds = kinds::<ConditionerConfig>();
        let kind = &kinds[usize::from(self.kind) % kinds.len()];
        let mut conditioner = scale.draw(kind, self.seed.into(), |drawn: &ConditionerConfig| {
            drawn.problem().is_none()
        });
        if let ConditionerConfig::Jitter(jitter) = &mut conditioner {
            let mut stream = Stream::new(self.seed.into(), "table", 0);
            let number = |_| stream.below(1 << 16) as u16 as i16;
            jitter.table = self
                .seed
                .is_multiple_of(2)
                .then(|| (0..1 + self.seed % 20).map(number).collect());
        }
        conditioner
    }
}

/// Numbers that select the losses of a link and their parameters.
#[derive(Clone, Debug)]
pub struct LossDraft {
    kind: u8,
    seed: u32,
}

/// Strategy: a port.
pub fn any_port() -> impl Strategy<Value = PortDraft> {
    let buffer = prop_oneof![
        2 => Just(None),
        4 => (1u64..4, 0u64..30).prop_map(Some),
        3 => (1u64..12, Just(0)).prop_map(Some),
        1 => (12u64..60, Just(0)).prop_map(Some),
    ];
    let policy = prop::option::weighted(0.7, any_policy());
    let share = prop::option::of(prop_oneof![Just(0u16), Just(1000), 0u16..=1000]);
    let conditioner = (any::<u8>(), any::<u32>()).prop_map(|(kind, seed)| ConditionerDraft { kind, seed });
    let conditioners = prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec(conditioner, 1..5)];
    let two_queues = prop::bool::weighted(0.1);
    let unit = prop::option::weighted(0.25, prop_oneof![Just(ServiceUnit::Cells), Just(ServiceUnit::Frames)]);
    (buffer, any::<bool>(), policy, share, two_queues, conditioners, unit).prop_map(
        |(buffer, packets, policy, share, two_queues, conditioners, unit_of_vcs)| PortDraft {
            buffer,
            packets,
            policy,
            share,
            two_queues,
            unit_of_vcs,
            conditioners,
        },
    )
}

/// Strategy: the losses of one link.
pub fn any_loss() -> impl Strategy<Value = LossDraft> {
    (any::<u8>(), any::<u32>()).prop_map(|(kind, seed)| LossDraft { kind, seed })
}

/// Returns a link with an unlimited port.
pub fn plain_link(from: usize, to: usize, rate_bps: u64, delay_ps: u64) -> LinkConfig {
    LinkConfig {
        from,
        to,
        rate_bps,
        delay_ps,
        buffer: None,
        policy: PolicyConfig::TAIL_DROP,
        scheduler: SchedulerConfig::Fifo {},
        loss: LossConfig::None {},
        motion: None,
        conditioners: vec![],
        access: None,
    }
}

impl LossDraft {
    /// Returns the losses for a port of the given scale.
    pub fn build(&self, scale: &Scale) -> LossConfig {
        let kinds = kinds::<LossConfig>();
        let kind = &kinds[usize::from(self.kind) % kinds.len()];
        scale.draw(kind, self.seed.into(), |loss: &LossConfig| loss.invalid().is_none())
    }
}

/// Returns the length [byte] of the longest packet on each link.
fn longest_packets(scenario: &Scenario) -> Vec<u32> {
    let mut longest = vec![40; scenario.links.len()];
    for flow in &scenario.flows {
        let (data, mut ack) = flow.tcp.largest_packets_bytes();
        if flow.traffic.facts().has_requests {
            ack = data;
        }
        // Datagrams may still replace the flow's TCP traffic.
        let data = data.max(flow.traffic.datagram_bytes().map_or(0, |[_, longest]| longest));
        for (route, bytes) in [(&flow.route, data), (&flow.return_route, ack)] {
            route.iter().for_each(|&link| longest[link] = longest[link].max(bytes));
        }
    }
    longest
}

/// Configures every port of a switch: most ports according to the first draft, and some ports, including some
/// interfaces of hosts, according to the other drafts.
pub fn furnish(scenario: &mut Scenario, ports: &[PortDraft], odd: &[(usize, usize)]) {
    let (longest, links) = (longest_packets(scenario), scenario.links.len());
    for (index, link) in scenario.links.iter_mut().enumerate() {
        let odd = odd.iter().find(|(at, _)| at % links == index);
        let node = &scenario.nodes[link.from];
        let plain = scenario.framing == Framing::Aal5 || odd.is_none() || node.send_jitter_ps > 0;
        if node.kind == NodeKind::Host && plain {
            continue;
        }
        let port = &ports[odd.map_or(0, |(_, port)| port % ports.len())];
        let bytes = longest[index];
        let unit = match (scenario.framing, port.packets) {
            (Framing::Aal5, _) => BufferUnit::Cells,
            (Framing::Ip, true) => BufferUnit::Packets,
            (Framing::Ip, false) => BufferUnit::Bytes,
        };
        let min = match unit {
            BufferUnit::Cells => u64::from(frame_cells(bytes)),
            BufferUnit::Packets => 1,
            BufferUnit::Bytes => u64::from(bytes),
        };
        link.buffer = port.buffer.map(|(times, beyond)| BufferConfig {
            unit,
            limit: times * min + beyond,
        });
        let scale = Scale::of(link, bytes, scenario.duration_ps);
        let policy = port
            .policy
            .as_ref()
            .map(|policy| policy.build(&scale, scenario.framing));
        link.policy = policy.unwrap_or(PolicyConfig::TAIL_DROP);
        if scenario.framing == Framing::Ip {
            link.conditioners = port.conditioners.iter().map(|draft| draft.build(&scale)).collect();
            let is_refused = |conditioners: &[ConditionerConfig]| {
                let kinds: Vec<&str> = conditioners.iter().map(<&str>::from).collect();
                !problems_of_all(&kinds).is_empty()
            };
            while is_refused(&link.conditioners) {
                link.conditioners.pop();
            }
        }
        let vbr = scenario.vbr.iter().any(|source| source.route[1..].contains(&index));
        if vbr || (port.two_queues && scenario.framing == Framing::Aal5) {
            link.scheduler = port.scheduler();
        } else if let (Framing::Aal5, Some(unit), true) = (scenario.framing, port.unit_of_vcs, scenario.vbr.is_empty())
        {
            link.scheduler = SchedulerConfig::Wfq { unit };
        }
    }
}

impl PortDraft {
    /// Returns the scheduler that serves VBR and UBR.
    fn scheduler(&self) -> SchedulerConfig {
        match self.share {
            None => SchedulerConfig::Priority {},
            Some(thousandths) => SchedulerConfig::GuaranteedRate {
                share_ppb: u64::from(thousandths) * 1_000_000,
            },
        }
    }
}
