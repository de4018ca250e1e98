//! Random medium access of some links, which may share cells.

use super::described::Scale;
use longpipe_network::scenario::access::{AccessConfig, Direction, DvbRcs2Config, DvbS2Config, HeavyQueue};
use longpipe_network::scenario::{NodeKind, Scenario};
use longpipe_network::Simulation;
use longpipe_tcp::described::{kinds, Described};
use proptest::prelude::*;

/// Attempts to find parameters that fit the links.
const ATTEMPTS: u64 = 40;

/// Most bits that a Wi-Fi link carries in a run, whose rates do not depend on those of other links.
const MOST_BITS: f64 = 1e9;

/// Strategy: scenarios in which some links have medium access.
pub fn with_access(usual: impl Strategy<Value = Scenario>) -> impl Strategy<Value = Scenario> {
    let links = prop::collection::vec(0usize..60, 1..6);
    (usual, links, any::<bool>(), any::<u32>()).prop_map(|(mut scenario, links, shares, seed)| {
        add(&mut scenario, &links, shares, seed.into());
        scenario
    })
}

/// Gives links medium access, in one cell if `shares`, as far as random parameters fit them.
fn add(scenario: &mut Scenario, links: &[usize], shares: bool, seed: u64) {
    let count = scenario.links.len();
    for (number, link) in links.iter().map(|link| link % count).enumerate() {
        let node = &scenario.nodes[scenario.links[link].from];
        if node.kind == NodeKind::Host && node.send_jitter_ps > 0 {
            continue;
        }
        let kept = scenario.links[link].clone();
        if shares {
            scenario.links[link].rate_bps = scenario.links[links[0] % count].rate_bps;
        }
        let scale = Scale::of(&kept, 1500, scenario.duration_ps);
        let kinds = kinds::<AccessConfig>();
        let fits = (0..ATTEMPTS).any(|attempt| {
            // The stations of a cell have equal parameters.
            let own = if shares { 0 } else { number as u64 };
            let seed = seed.wrapping_add(own << 32).wrapping_add(attempt);
            let kind = &kinds[seed as usize % kinds.len()];
            let mut access = scale.draw(kind, seed, |drawn: &AccessConfig| drawn.invalid().is_none());
            let cell = match &mut access {
                AccessConfig::DvbRcs2(DvbRcs2Config { cell, .. }) | AccessConfig::DvbS2(DvbS2Config { cell, .. }) => {
                    cell
                }
                AccessConfig::Cellreplay(own) => {
                    // Python reads recordings from files. Each link has one of its own, to which its rate does not apply.
                    scenario.links[link].rate_bps = 10_000_000_000;
                    let ms = |count: u64, gap: u64| (0..count).map(move |number| number * gap * (1 + seed % 3));
                    own.light_ms = ms(4, 50).map(|time| vec![time, 5 + time % 7, 0, 1, 1, 4]).collect();
                    own.heavy_ms = ms(9, 3).collect();
                    own.size_offsets_ms = (seed % 2 == 0).then(|| vec![0.4, 1.0, 2.7]);
                    own.skip_ps = 0;
                    let limit = own.queue_packets.unwrap_or(1 + seed % 20);
                    own.queue_packets = (own.queue != HeavyQueue::Infinite).then_some(limit);
                    own.queue_size_bytes = own.queue_size_bytes.filter(|_| own.queue != HeavyQueue::Infinite);
                    own.codel_target_ps = own.codel_target_ps.filter(|_| own.queue == HeavyQueue::Codel);
                    own.codel_interval_ps = own.codel_interval_ps.filter(|_| own.queue == HeavyQueue::Codel);
                    scenario.links[link].access = Some(Box::new(access));
                    return Simulation::new(scenario, 1).is_ok();
                }
                AccessConfig::Cellular(own) => {
                    // A cell has users of both directions.
                    own.direction = if number % 2 == 0 {
                        Direction::Up
                    } else {
                        Direction::Down
                    };
                    &mut own.cell
                }
                AccessConfig::Docsis(own) => &mut own.cell,
                AccessConfig::Wifi(own) => {
                    // Contention windows are powers of 2, less 1.
                    own.cw_min = (own.cw_min + 1).next_power_of_two() - 1;
                    own.cw_max = own.cw_min.max((own.cw_max + 1).next_power_of_two() - 1);
                    // The rate of a link is one of the standard's, and may differ from those of other links of the cell.
                    let rates = own.rates();
                    let rate_bps = rates[number % rates.len()];
                    if rate_bps as f64 * scenario.duration_ps as f64 > 1e12 * MOST_BITS {
                        return false;
                    }
                    scenario.links[link].rate_bps = rate_bps;
                    &mut own.cell
                }
            };
            *cell = shares.then(|| "beam".to_owned());
            scenario.links[link].access = Some(Box::new(access));
            Simulation::new(scenario, 1).is_ok()
        });
        if !fits {
            scenario.links[link] = kept;
        }
    }
}
