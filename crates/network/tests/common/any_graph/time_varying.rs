//! Random time-varying links: rates, opportunities, delays, outages and orders, all in proportion to the length of the
//! run.

use super::{any_scenario, pace::part};
use crate::common::SECOND;
use longpipe_network::scenario::conditioners::ConditionerConfig;
use longpipe_network::scenario::time_varying::{
    Between, DelayConfig, HoldOrDrop, InFlight, InService, Instant, OrderConfig, OutagesConfig, ServiceConfig,
    TimeVaryingConfig,
};
use longpipe_network::scenario::{Framing, LinkConfig, LossConfig, Scenario};
use proptest::prelude::*;

/// A series: its times are fractions of the run, and its values are fractions of a maximum.
type Series = Vec<(u16, u16)>;

/// Rate of a link as a function of time.
#[derive(Clone, Debug)]
enum ServiceDraft {
    Stands,
    Steps(Series, bool),
    Opportunities(Vec<u16>, u64, u64),
}

/// Draft of a time-varying link, whose numbers are fractions.
#[derive(Clone, Debug)]
pub struct TimeVaryingDraft {
    service: ServiceDraft,
    delay: Option<(Series, bool, bool, Option<u16>)>,
    outages: Option<(Series, [bool; 3], u8)>,
    free: bool,
}

fn any_series() -> impl Strategy<Value = Series> {
    prop::collection::vec((any::<u16>(), prop_oneof![2 => Just(0u16), 5 => any::<u16>()]), 1..7)
}

/// Strategy: the variation of one link.
fn any_time_variation() -> impl Strategy<Value = TimeVaryingDraft> {
    let service = prop_oneof![
        4 => Just(ServiceDraft::Stands),
        2 => (any_series(), any::<bool>()).prop_map(|(series, cyclic)| ServiceDraft::Steps(series, cyclic)),
        1 => (prop::collection::vec(any::<u16>(), 1..30), 20u64..4000, 0u64..8)
            .prop_map(|(shares, bytes, header)| ServiceDraft::Opportunities(shares, bytes, header)),
    ];
    let grant = prop::option::weighted(0.25, any::<u16>());
    let delay = prop_oneof![1 => Just(None), 3 => (any_series(), any::<bool>(), any::<bool>(), grant).prop_map(Some)];
    let outages = prop_oneof![
        2 => Just(None),
        1 => (prop::collection::vec((any::<u16>(), any::<u16>()), 1..5), any::<[bool; 3]>(), 0u8..3).prop_map(Some),
    ];
    (service, delay, outages, prop::bool::weighted(0.3)).prop_map(|(service, delay, outages, free)| TimeVaryingDraft {
        service,
        delay,
        outages,
        free,
    })
}

/// Strategy: the variations of some links, which are given by their numbers.
pub fn any_time_variations() -> impl Strategy<Value = Vec<(usize, TimeVaryingDraft)>> {
    prop::collection::vec((0usize..60, any_time_variation()), 1..5)
}

/// Strategy: a scenario with links of this framing, some of which are time-varying.
pub fn any_time_varying(framing: Framing) -> impl Strategy<Value = Scenario> {
    (any_scenario(framing), any_time_variations()).prop_map(|(mut scenario, motions)| {
        set(&mut scenario, &motions);
        scenario
    })
}

/// Makes some links of a scenario time-varying.
pub fn set(scenario: &mut Scenario, motions: &[(usize, TimeVaryingDraft)]) {
    let (links, duration) = (scenario.links.len(), scenario.duration_ps);
    for (number, draft) in motions {
        let number = number % links;
        if scenario.vbr.iter().any(|source| source.route.contains(&number)) {
            continue;
        }
        let link = &mut scenario.links[number];
        let mut motion = draft.build(link, duration);
        if scenario.framing == Framing::Aal5 {
            motion.order = OrderConfig::Fifo;
            motion
                .service
                .take_if(|service| matches!(service, ServiceConfig::Opportunities { .. }));
            link.motion = Some(Box::new(motion));
            continue;
        }
        if matches!(motion.service, Some(ServiceConfig::Opportunities { .. })) {
            let aggregates = |config: &ConditionerConfig| matches!(config, ConditionerConfig::Aggregation(_));
            link.conditioners.retain(|config| !aggregates(config));
        }
        link.motion = Some(Box::new(motion));
        if matches!(link.loss, LossConfig::BitErrors { .. }) {
            link.loss = LossConfig::None {};
        }
    }
}

impl TimeVaryingDraft {
    fn build(&self, link: &LinkConfig, duration: u64) -> TimeVaryingConfig {
        // Times may lie beyond the end of the run, but a cycle must end within 100 days.
        let latest = duration
            .saturating_mul(2)
            .min(100 * 86_400 * SECOND - 1 - duration / 50);
        let instant = |share: u16| part(latest, share);
        let service = match &self.service {
            ServiceDraft::Stands => None,
            ServiceDraft::Steps(series, cyclic) => {
                let mut steps: Vec<[u64; 2]> = series
                    .iter()
                    .map(|&(at, rate)| [instant(at), part(link.rate_bps.min(5_000_000_000_000) * 2, rate)])
                    .collect();
                steps.sort_unstable();
                steps.insert(0, [0, link.rate_bps]);
                steps.dedup_by_key(|step| step[0]);
                let last = steps[steps.len() - 1][0];
                let cycle_ps = cyclic.then_some(last + 1 + duration / 50);
                Some(ServiceConfig::Steps { steps, cycle_ps })
            }
            ServiceDraft::Opportunities(shares, bytes, header_bytes) => {
                let mut instants_ps: Vec<u64> = shares.iter().map(|&share| part(duration, share) / 8).collect();
                instants_ps.sort_unstable();
                let last = instants_ps.len() - 1;
                instants_ps[last] += 1;
                Some(ServiceConfig::Opportunities {
                    instants_ps,
                    bytes: *bytes,
                    header_bytes: *header_bytes,
                })
            }
        };
        let delay = self.delay.as_ref().map(|(series, linear, at_start, grant)| {
            let max = (2 * link.delay_ps).max(duration / 20);
            let mut knots_ps: Vec<[u64; 2]> = series
                .iter()
                .map(|&(at, delay)| [instant(at), part(max.min(900_000_000_000_000), delay)])
                .collect();
            knots_ps.sort_unstable_by_key(|knot| knot[0]);
            DelayConfig {
                knots_ps,
                between: if *linear { Between::Linear } else { Between::Hold },
                at: if *at_start { Instant::Start } else { Instant::End },
                grant_ps: grant.map(|share| (1 + part(duration / 50, share)).min(1_000 * SECOND)),
            }
        });
        let alone = matches!(service, Some(ServiceConfig::Opportunities { .. }));
        let outages = self
            .outages
            .as_ref()
            .filter(|_| !alone)
            .map(|(shares, drops, in_service)| {
                let mut intervals_ps: Vec<[u64; 2]> = vec![];
                let mut begins: Vec<(u64, u64)> = shares
                    .iter()
                    .map(|&(at, long)| (instant(at), 1 + part(duration / 8, long)))
                    .collect();
                begins.sort_unstable();
                for (begin, long) in begins {
                    if intervals_ps.last().is_none_or(|last| last[1] < begin) {
                        intervals_ps.push([begin, begin + long]);
                    }
                }
                let policy = |drop: bool| if drop { HoldOrDrop::Drop } else { HoldOrDrop::Hold };
                OutagesConfig {
                    intervals_ps,
                    arriving: policy(drops[0]),
                    waiting: policy(drops[1]),
                    in_service: [InService::Hold, InService::Drop, InService::Deliver][usize::from(*in_service)],
                    in_flight: if drops[2] { InFlight::Drop } else { InFlight::Deliver },
                }
            });
        TimeVaryingConfig {
            service,
            delay,
            outages,
            order: if self.free {
                OrderConfig::Free
            } else {
                OrderConfig::Fifo
            },
        }
    }
}
