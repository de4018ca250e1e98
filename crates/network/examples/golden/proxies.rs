//! Connections split by a proxy.

use crate::common::proxies::{end_points, split, MSS};
use crate::common::SECOND;
use crate::Book;
use longpipe_network::scenario::{Framing, LossConfig, TrafficConfig};
use longpipe_tcp::config::RecoveryKind;

pub fn add_all(book: &mut Book) {
    let ms = SECOND / 1000;
    let pipes = [(20_000_000, 5 * ms), (4_000_000, 60 * ms)];
    let size_bytes = 150 * MSS + 1;
    for (recovery_name, kind) in [
        ("newreno", RecoveryKind::Newreno),
        ("sack", RecoveryKind::Sack),
        ("rack", RecoveryKind::Rack),
    ] {
        for (traffic_name, traffic) in [
            ("greedy", TrafficConfig::GREEDY),
            ("file", TrafficConfig::transfer(size_bytes)),
        ] {
            for (medium, framing) in [("ip", Framing::Ip), ("aal5", Framing::Aal5)] {
                for room in [3, 60] {
                    let mut scenario = split(pipes, &end_points(kind), traffic.clone(), room * MSS);
                    scenario.framing = framing;
                    scenario.duration_ps = 4 * SECOND;
                    // Loses data of the second connection, and ACKs of the first connection.
                    for (link, probability) in [(2, 0.01), (1, 0.05)] {
                        scenario.links[link].loss = LossConfig::Bernoulli { probability };
                    }
                    book.add(
                        &format!("relay/{recovery_name}/{traffic_name}/{room}/{medium}"),
                        &scenario,
                    );
                }
            }
        }
    }
}
