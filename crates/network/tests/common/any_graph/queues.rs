//! Random queue disciplines for IP packets, which act at enqueue or dequeue.

use longpipe_network::queues::cake::{CakeAckFilter, CakeConfig, CakeFraming, CakeIsolation, CakeTins};
use longpipe_network::queues::fq_pie::FqPieConfig;
use longpipe_network::scenario::{
    AckFilterConfig, BlueConfig, CodelArithmetic, CodelConfig, DrrConfig, DualPi2Config, FqCodelConfig, FqCodelRules,
    FqConfig, HeadDropConfig, LowLatencyMarking, PieConfig, PieDelay, PieRules, PolicyConfig, QueueUnit, RedConfig,
    RedGap, SfqConfig, StepMarkingConfig, StrictPriorityConfig, TwoQueues, WeightedPriorityConfig,
};
use proptest::prelude::*;

/// Maximum number of updates of a probability in one run; otherwise days of idle time on a fast link would dominate it.
const MOST_UPDATES: u64 = 2_000_000;
/// Bounds of the times of queue disciplines: 1 us to 1000 s.
const SHORTEST_PS: u64 = 1_000_000;
const LONGEST_PS: u64 = 1_000_000_000_000_000;

/// Number that selects the discipline, and the discipline's parameters, each from 1 to 1000.
#[derive(Clone, Debug)]
pub struct QueueDraft {
    kind: u8,
    numbers: [u16; 5],
    /// One bit for each binary choice.
    choices: u16,
}

/// Strategy: a queue discipline.
pub fn any_queue() -> impl Strategy<Value = QueueDraft> {
    (0u8..17, prop::array::uniform5(1u16..=1000), any::<u16>()).prop_map(|(kind, numbers, choices)| QueueDraft {
        kind,
        numbers,
        choices,
    })
}

impl QueueDraft {
    /// Returns the discipline for a link that takes `packet_ps` for a packet of `packet_bytes`, in a run of the given
    /// length.
    pub fn build(&self, packet_ps: u64, packet_bytes: u32, duration_ps: u64) -> PolicyConfig {
        let [a, b, c, d, _] = self.numbers.map(u64::from);
        let share = |of: u64| of as f64 / 1000.0;
        let packets = |tenths: u64| (packet_ps * tenths / 10).clamp(SHORTEST_PS, LONGEST_PS);
        let update_ps = packets(b / 5 + 1).max(10_000_000).max(duration_ps / MOST_UPDATES);
        let codel = CodelConfig {
            target_ps: packets(a / 10),
            interval_ps: packets(a / 10 + b),
            least_backlog_bytes: u64::from(packet_bytes) * (c % 3),
            arithmetic: [CodelArithmetic::Exact, CodelArithmetic::Linux, CodelArithmetic::Ns3][c as usize % 3],
            ecn: self.choice(0),
        };
        match self.kind {
            0 => PolicyConfig::Codel(codel),
            1 => PolicyConfig::FqCodel(FqCodelConfig {
                target_ps: codel.target_ps,
                interval_ps: codel.interval_ps,
                least_backlog_bytes: codel.least_backlog_bytes,
                arithmetic: codel.arithmetic,
                ecn: codel.ecn,
                quantum_bytes: 1 + d as u32 * packet_bytes / 500,
                queues: self.choice(1).then_some(1 + d as u32 % 7),
                rules: if self.choice(2) {
                    FqCodelRules::Linux
                } else {
                    FqCodelRules::Rfc8290
                },
            }),
            2 => PolicyConfig::StepMarking(StepMarkingConfig {
                threshold: if self.choice(1) {
                    1 + a / 20 * u64::from(packet_bytes)
                } else {
                    1 + a / 20
                },
                unit: self.unit(),
            }),
            3 => PolicyConfig::Blue(BlueConfig {
                increment: share(a),
                decrement: share(b),
                freeze_ps: packets(c),
                ecn: self.choice(0),
            }),
            4 => PolicyConfig::Pie(PieConfig {
                target_ps: packets(a / 5),
                update_ps,
                burst_ps: packets(c % 200),
                alpha: (share(d) * 4e10 / packet_ps as f64).min(1e9),
                beta: (share(a) * 4e11 / packet_ps as f64).min(1e9),
                least_backlog_bytes: u64::from(packet_bytes) * (c % 3),
                delay: match (self.choice(1), b % 2) {
                    (true, _) => PieDelay::Sojourn,
                    (false, 0) => PieDelay::DepartureRate,
                    (false, _) => PieDelay::DepartureTime,
                },
                rules: [PieRules::Rfc8033, PieRules::Linux, PieRules::Ns3][b as usize % 3],
                derandomize: self.choice(2),
                ecn: self.choice(0),
            }),
            5 => self.red(packet_bytes),
            14 | 15 => self.cake(packet_ps, packet_bytes),
            16 => PolicyConfig::FqPie(FqPieConfig {
                target_ps: packets(a / 5),
                update_ps,
                burst_ps: packets(c % 200),
                alpha: (share(d) * 4e10 / packet_ps as f64).min(1e9),
                beta: (share(a) * 4e11 / packet_ps as f64).min(1e9),
                least_backlog_bytes: u64::from(packet_bytes) * (c % 3),
                ecn: self.choice(0),
                quantum_bytes: 64 + d as u32 * packet_bytes / 500,
                queues: self.choice(1).then_some(1 + d as u32 % 7),
            }),
            _ => self.scheduler(packet_ps, packet_bytes, update_ps),
        }
    }

    /// Returns a discipline that has several queues and at least three classes.
    fn scheduler(&self, packet_ps: u64, packet_bytes: u32, update_ps: u64) -> PolicyConfig {
        let [a, b, c, d, e] = self.numbers.map(u64::from);
        let packets = |tenths: u64| (packet_ps * tenths / 10).clamp(SHORTEST_PS, LONGEST_PS);
        let quantum_bytes = 64 + d as u32 * packet_bytes / 500;
        match self.kind {
            6 => PolicyConfig::Drr(DrrConfig {
                quantum_bytes,
                queues: self.choice(0).then_some(1 + e as u32 % 7),
            }),
            12 => PolicyConfig::Fq(FqConfig {
                quantum_bytes,
                initial_quantum_bytes: 64 + e as u32 * packet_bytes / 100,
                flow_limit: 1 + b as u32 % 20,
                refill_delay_ps: packets(c),
            }),
            7 => PolicyConfig::Sfq(SfqConfig {
                quantum_bytes,
                queues: 1 + e as u32 % 7,
                perturb_ps: self.choice(0).then_some(packets(b)),
            }),
            8 => PolicyConfig::StrictPriority(StrictPriorityConfig {
                classes: 3 + e as u32 % 3,
            }),
            9 => PolicyConfig::WeightedPriority(WeightedPriorityConfig {
                weights: [a, b, c].map(|weight| 1 + weight as u32 % 9).to_vec(),
                quantum_bytes,
            }),
            10 => PolicyConfig::AckFilter(AckFilterConfig {}),
            13 => PolicyConfig::HeadDrop(HeadDropConfig {}),
            _ => PolicyConfig::DualPi2(DualPi2Config {
                target_ps: packets(a / 5),
                update_ps,
                alpha: (d as f64 * 4e7 / packet_ps as f64).min(1e9),
                beta: (a as f64 * 4e8 / packet_ps as f64).min(1e9),
                coupling: 1.0 + c as f64 / 300.0,
                marking: if self.choice(1) {
                    LowLatencyMarking::Step {
                        threshold_ps: packets(e / 20),
                    }
                } else {
                    LowLatencyMarking::Ramp {
                        min_ps: packets(e / 20).min(LONGEST_PS - 1),
                        max_ps: (packets(e / 20) + packets(c / 10)).min(LONGEST_PS),
                    }
                },
                least_packets: c % 3,
                scheduler: if self.choice(2) {
                    TwoQueues::TimeShifted {
                        shift_ps: packets(b / 2),
                    }
                } else {
                    TwoQueues::Weighted {
                        classic: b as f64 / 1001.0,
                    }
                },
                ecn: self.choice(0),
            }),
        }
    }

    /// Returns CAKE without a shaper, or with a rate between a tenth and ten times the link's rate.
    fn cake(&self, packet_ps: u64, packet_bytes: u32) -> PolicyConfig {
        let [a, b, c, d, e] = self.numbers.map(u64::from);
        let packet_ps = u128::from(packet_ps.max(1));
        let link_bps = 8_000_000_000_000 * u128::from(packet_bytes) / packet_ps;
        let share = if self.choice(1) { a } else { 1000 + 9 * a };
        let rate_bps = (link_bps * u128::from(share) / 1000) as u64;
        PolicyConfig::Cake(CakeConfig {
            rate_bps: (!self.choice(2) || b % 3 > 0).then_some(rate_bps.clamp(1_000, 10_000_000_000_000)),
            overhead: c as i32 % 321 - 64,
            framing: [CakeFraming::None, CakeFraming::Atm, CakeFraming::Ptm][c as usize % 3],
            mpu: if self.choice(0) { d as u32 % 257 } else { 0 },
            rtt_ps: (packet_ps as u64)
                .saturating_mul(e)
                .clamp(1_000_000, 1_000_000_000_000_000),
            tins: [
                CakeTins::Besteffort,
                CakeTins::Diffserv3,
                CakeTins::Diffserv4,
                CakeTins::Diffserv8,
                CakeTins::Precedence,
            ][d as usize % 5],
            isolation: [
                CakeIsolation::TripleIsolate,
                CakeIsolation::Flowblind,
                CakeIsolation::Srchost,
                CakeIsolation::Dsthost,
                CakeIsolation::Hosts,
                CakeIsolation::Flows,
                CakeIsolation::DualSrchost,
                CakeIsolation::DualDsthost,
            ][b as usize % 8],
            ack_filter: [CakeAckFilter::Off, CakeAckFilter::On, CakeAckFilter::Aggressive][e as usize % 3],
            ingress: self.choice(3),
        })
    }

    fn red(&self, packet_bytes: u32) -> PolicyConfig {
        let [a, b, c, d, e] = self.numbers.map(f64::from);
        let unit = if self.choice(1) { f64::from(packet_bytes) } else { 1.0 };
        let gap = [RedGap::Uniform, RedGap::Wait, RedGap::Drawn][self.numbers[4] as usize % 3];
        let plain = gap == RedGap::Drawn;
        PolicyConfig::Red(RedConfig {
            min: unit * a / 100.0,
            max: unit * (a + b) / 100.0,
            unit: self.unit(),
            weight: c / 1000.0,
            max_p: d / 1000.0,
            gentle: self.choice(2) && !plain,
            adaptive: self.choice(3) && !plain,
            gap,
            mean_packet_bytes: 1 + e as u32,
            ecn: self.choice(0),
            per_vc: false,
        })
    }

    /// Returns whether the discipline is RED, which also exists for cells.
    pub fn is_red(&self) -> bool {
        self.kind == 5
    }

    /// Returns RED for frames of `cells` cells, for the whole port or per VC.
    pub fn red_of_frames(&self, cells: u16, packet_bytes: u32) -> PolicyConfig {
        let PolicyConfig::Red(red) = self.red(packet_bytes) else {
            unreachable!("it is this")
        };
        let scale = f64::from(cells) / if self.choice(1) { f64::from(packet_bytes) } else { 1.0 };
        PolicyConfig::Red(RedConfig {
            min: red.min * scale,
            max: red.max * scale,
            unit: QueueUnit::Cells,
            ecn: false,
            per_vc: self.choice(4),
            ..red
        })
    }

    fn unit(&self) -> QueueUnit {
        if self.choice(1) {
            QueueUnit::Bytes
        } else {
            QueueUnit::Packets
        }
    }

    fn choice(&self, bit: u32) -> bool {
        self.choices >> bit & 1 == 1
    }
}
