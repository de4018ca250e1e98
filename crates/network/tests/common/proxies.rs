//! A path from a host through a split-TCP proxy to another host.

use super::{recovery, tcp, Builder, SECOND};
use longpipe_network::scenario::{ForwardingConfig, Framing, NodeKind, PolicyConfig, Scenario, Ties, TrafficConfig};
use longpipe_tcp::config::{RecoveryKind, TcpConfig};

/// Payload of a full segment [byte].
pub const MSS: u64 = 1000;

/// A rate [bit/s] and a delay [ps].
pub type Pipe = (u64, u64);

/// Returns the end points of both connections, whose windows are too large to limit them.
pub fn end_points(kind: RecoveryKind) -> TcpConfig {
    TcpConfig {
        mss_bytes: MSS as u32,
        recovery: recovery(kind),
        ..tcp(kind, 1 << 24)
    }
}

/// Returns a scenario of 20 s with IP packets over both links. Flow 0 leads from the proxy to the last host, and flow 1
/// from the first host to the proxy.
pub fn split(pipes: [Pipe; 2], tcp: &TcpConfig, traffic: TrafficConfig, buffer_bytes: u64) -> Scenario {
    let mut builder = Builder::new(20, 1, PolicyConfig::TAIL_DROP);
    let [first, proxy, last] = [(); 3].map(|()| builder.node(NodeKind::Host));
    let [(fast, near), (slow, far)] = pipes;
    let links = [
        builder.link(first, proxy, fast, near),
        builder.link(proxy, last, slow, far),
    ];
    builder.flow(vec![links[1]], tcp.clone());
    builder.flow(vec![links[0]], tcp.clone());
    let mut scenario = builder.scenario;
    (scenario.framing, scenario.ties) = (Framing::Ip, Ties::PortOrder);
    for flow in &mut scenario.flows {
        flow.traffic = traffic.clone();
    }
    scenario.duration_ps = 20 * SECOND;
    scenario.flows[0].relayed = true;
    scenario.flows[1].onward = Some(ForwardingConfig { flow: 0, buffer_bytes });
    scenario
}
