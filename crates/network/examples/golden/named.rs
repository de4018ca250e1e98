//! One option at a time, over a small dumbbell with all kinds of events, both with cells and with packets.

use crate::common::packets::ip;
use crate::common::{add_vbr, dumbbell, policy, tcp, web, SECOND};
use crate::options::OPTIONS;
use crate::paths::slower;
use crate::starts::cubic;
use crate::Book;
use longpipe_network::scenario::web::{CycleFrom, PoissonCut, WebConfig};
use longpipe_network::scenario::{
    BufferConfig, BufferUnit, EpdConfig, FbaConfig, Framing, LossConfig, PartialPacketDiscardConfig, PolicyConfig,
    Scenario, SchedulerConfig, SelectiveDropConfig, StartConfig, Ties, TrafficConfig,
};
use longpipe_tcp::config::{
    AckConfig, CongestionConfig, PhaseConfig, RackConfig, RecoveryConfig, RecoveryKind, Rfc6675Config, TcpConfig,
    TimerConfig,
};
use longpipe_tcp::congestion::{BbrConfig, HystartConfig};

const MS: u64 = SECOND / 1000;
const FRAMINGS: [(&str, Framing); 2] = [("cells", Framing::Aal5), ("packets", Framing::Ip)];

/// Returns three sources that send at about 4 Mbit/s over a trunk with 1 % frame loss and a buffer of 25 frames.
fn small(framing: Framing, config: &TcpConfig) -> Scenario {
    let mut scenario = slower(dumbbell(3, 4 * MS, 300, policy("tail-drop"), 2, config), 40);
    scenario.links[0].loss = LossConfig::Bernoulli { probability: 0.01 };
    for (flow, at) in scenario.flows.iter_mut().zip(0..) {
        flow.start = StartConfig::Fixed { at_ps: at * 10 * MS };
    }
    match framing {
        Framing::Aal5 => scenario,
        Framing::Ip => ip(scenario, BufferUnit::Packets, 25),
    }
}

fn coarse(tick: u64, phase: PhaseConfig, count_from_one: bool, expires_on_tick: bool) -> TimerConfig {
    TimerConfig::Coarse {
        tick_ps: tick,
        phase,
        min_rto_ticks: 2,
        max_rto_ticks: 64,
        initial_rto_ticks: 6,
        count_from_one,
        expires_on_tick,
    }
}

fn fine(granularity_ps: u64, min_rto_ps: u64, timestamps: bool) -> TimerConfig {
    TimerConfig::Fine {
        granularity_ps,
        min_rto_ps,
        max_rto_ps: 10 * SECOND,
        initial_rto_ps: SECOND / 2,
        timestamps,
    }
}

fn timers() -> Vec<(&'static str, TimerConfig)> {
    let at = PhaseConfig::Fixed { at_ps: 33 * MS };
    vec![
        ("coarse-fixed", coarse(100 * MS, at.clone(), true, true)),
        ("coarse-common", coarse(100 * MS, PhaseConfig::Common {}, true, true)),
        ("coarse-per-flow", coarse(100 * MS, PhaseConfig::PerFlow {}, true, true)),
        ("coarse-off-ticks", coarse(50 * MS, at, true, false)),
        (
            "coarse-at-least-one",
            coarse(20 * MS, PhaseConfig::Common {}, false, true),
        ),
        ("fine", fine(MS, 10 * MS, false)),
        ("fine-eager", fine(1, 1, false)),
        ("timestamps", fine(MS, 10 * MS, true)),
        ("timestamps-slow", fine(10 * MS, SECOND / 5, true)),
    ]
}

fn delayed(segments: u32, timeout_ps: u64) -> AckConfig {
    AckConfig::Delayed {
        segments,
        timeout_ps,
        quick: 0,
    }
}

fn end_points(book: &mut Book) {
    for (medium, framing) in FRAMINGS {
        for (name, recovery, change) in OPTIONS {
            let mut config = tcp(recovery, 65_535);
            change(&mut config);
            book.add(&format!("option/{name}/{medium}"), &small(framing, &config));
        }
        let acks = [
            ("immediate", AckConfig::Immediate {}),
            ("delayed", delayed(2, SECOND / 5)),
            ("long-delayed", delayed(4, 30 * MS)),
        ];
        for (name, timer) in timers() {
            for (ack_name, ack) in &acks {
                let config = TcpConfig {
                    timer: timer.clone(),
                    ack: ack.clone(),
                    ..tcp([RecoveryKind::Reno, RecoveryKind::Sack][ack_name.len() % 2], 32_768)
                };
                book.add(&format!("timer/{name}/{ack_name}/{medium}"), &small(framing, &config));
            }
        }
    }
}

/// Adds senders and ACKs that follow Linux's rules.
fn linux(book: &mut Book) {
    let cubic = cubic(HystartConfig::Linux);
    let rack = |tells, successive| {
        RecoveryConfig::Rack(RackConfig {
            blocks: 3,
            probe: true,
            undo: true,
            dsack: tells,
            frto: tells,
            successive,
        })
    };
    for (medium, framing) in FRAMINGS {
        let bbr = CongestionConfig::Bbr(BbrConfig {});
        for (name, congestion, (tells, least_round_trip, successive), sack_delay_ps) in [
            ("cubic", cubic.clone(), (false, false, false), 0),
            ("bbr", bbr.clone(), (false, false, false), 0),
            ("cubic-dsack-frto", cubic.clone(), (true, false, false), 0),
            ("cubic-least-round-trip", cubic.clone(), (true, true, false), 0),
            ("cubic-successive", cubic.clone(), (true, true, true), 0),
            ("bbr-successive", bbr, (true, true, true), 0),
            ("cubic-sack-delay", cubic.clone(), (true, true, false), 10 * MS),
            (
                "cubic-sack-delay-every-second",
                cubic.clone(),
                (true, true, false),
                10 * MS,
            ),
        ] {
            let config = TcpConfig {
                recovery: rack(tells, successive),
                congestion,
                initial_window_segments: 10,
                idle_restart: true,
                timer: fine(SECOND / 5, SECOND / 5, true),
                ack: AckConfig::Linux {
                    timeout_ps: 40 * MS,
                    quick: 16,
                    least_round_trip,
                    sack_delay_ps,
                    write_every_ps: 0,
                    growing_window: false,
                },
                ..tcp(RecoveryKind::Sack, 262_144)
            };
            let mut scenario = small(framing, &config);
            if name.ends_with("every-second") {
                scenario.flows.truncate(1);
                let indices = (800..900).step_by(2).collect();
                scenario.links[0].loss = LossConfig::Packets { indices };
                // An ACK waits for at most a twentieth of the RTT.
                scenario.links[0].delay_ps = 80 * MS;
            }
            book.add(&format!("linux/{name}/{medium}"), &scenario);
        }
    }
}

/// Adds RFC 6675 with a frame loss of 1 in 100, with one of 1 in 12, which also causes timeouts, and with FACK.
fn rfc_6675(book: &mut Book) {
    for (medium, framing) in FRAMINGS {
        for (name, probability, ack, fack) in [
            ("rare-losses", 0.01, AckConfig::Immediate {}, false),
            ("often", 0.08, delayed(2, SECOND / 5), false),
            ("fack-rare-losses", 0.01, AckConfig::Immediate {}, true),
            ("fack-often", 0.08, delayed(2, SECOND / 5), true),
        ] {
            let config = TcpConfig {
                ack,
                recovery: RecoveryConfig::Rfc6675(Rfc6675Config { blocks: 3, fack }),
                ..tcp(RecoveryKind::Rfc6675, 65_535)
            };
            let mut scenario = small(framing, &config);
            scenario.links[0].loss = LossConfig::Bernoulli { probability };
            book.add(&format!("rfc6675/{name}/{medium}"), &scenario);
        }
    }
}

fn losses() -> Vec<(&'static str, LossConfig)> {
    vec![
        ("none", LossConfig::None {}),
        (
            "by-number",
            LossConfig::Packets {
                indices: vec![0, 7, 8, 9, 40, 41, 100],
            },
        ),
        (
            "at-times",
            LossConfig::AtTimes {
                instants_ps: vec![0, 200 * MS, 200 * MS + 1, 333 * MS, SECOND],
            },
        ),
        ("bernoulli", LossConfig::Bernoulli { probability: 0.05 }),
        (
            "gilbert-elliott",
            LossConfig::GilbertElliott {
                good_to_bad: 0.02,
                bad_to_good: 0.3,
                loss_in_good: 0.001,
                loss_in_bad: 0.6,
            },
        ),
    ]
}

fn links(book: &mut Book) {
    for (medium, framing) in FRAMINGS {
        let plain = small(framing, &tcp(RecoveryKind::Newreno, 65_535));
        for (name, loss) in losses() {
            // The trunk, the reverse link, and a host's link.
            for (place, link) in [("trunk", 0), ("return", 1), ("host", 2)] {
                let mut scenario = plain.clone();
                scenario.links[0].loss = LossConfig::None {};
                scenario.links[link].loss = loss.clone();
                book.add(&format!("loss/{name}/{place}/{medium}"), &scenario);
            }
        }
        let ties = [Ties::PortOrder, Ties::Random, Ties::Rotating];
        for (name, ties) in ["port-order", "random", "rotating"].into_iter().zip(ties) {
            if (ties, framing) == (Ties::Rotating, Framing::Ip) {
                continue;
            }
            for (jitter, width) in [("lockstep", 0), ("jitter", 100_000_000), ("wide-jitter", 7 * MS)] {
                let mut scenario = plain.clone();
                scenario.links[0].loss = LossConfig::None {};
                scenario.ties = ties;
                for node in &mut scenario.nodes[2..] {
                    node.send_jitter_ps = width;
                }
                for flow in &mut scenario.flows {
                    flow.start = StartConfig::Fixed { at_ps: 0 };
                }
                book.add(&format!("ties/{name}/{jitter}/{medium}"), &scenario);
            }
        }
        let mut starts = plain.clone();
        for (flow, size) in starts.flows.iter_mut().zip([1, 20_000, 150_001]) {
            flow.traffic = TrafficConfig::transfer(size);
            flow.start = StartConfig::Random {
                from_ps: 10 * MS,
                over_ps: 300 * MS,
            };
        }
        book.add(&format!("transfers/{medium}"), &starts);
    }
    for (name, phase) in [("aligned", 0.0), ("late", 0.999)] {
        let mut scenario = small(Framing::Aal5, &tcp(RecoveryKind::Reno, 65_535));
        scenario.slot_phase = phase;
        book.add(&format!("slot-phase/{name}"), &scenario);
    }
}

fn buffers(book: &mut Book) {
    let config = tcp(RecoveryKind::Reno, 65_535);
    for (name, unit, limits) in [
        ("packets", BufferUnit::Packets, [1, 3, 60]),
        ("bytes", BufferUnit::Bytes, [600, 3000, 40_000]),
        ("cells", BufferUnit::Cells, [13, 60, 900]),
    ] {
        let framing = if unit == BufferUnit::Cells {
            Framing::Aal5
        } else {
            Framing::Ip
        };
        for limit in limits {
            for kind in ["tail-drop", "selective-drop", "fba"] {
                let mut scenario = small(framing, &config);
                for link in scenario.links.iter_mut().filter(|link| link.from < 2) {
                    link.buffer = Some(BufferConfig { unit, limit });
                    link.policy = policy(kind);
                }
                book.add(&format!("buffer/{limit}-{name}/{kind}"), &scenario);
            }
        }
    }
    for (medium, framing) in FRAMINGS {
        let mut scenario = small(framing, &config);
        scenario.links.iter_mut().for_each(|link| link.buffer = None);
        book.add(&format!("buffer/unlimited/{medium}"), &scenario);
    }
}

fn policies() -> Vec<(&'static str, PolicyConfig)> {
    let keep_last = false;
    vec![
        ("tail-drop", policy("tail-drop")),
        ("partial-packet-discard", policy("partial-packet-discard")),
        ("epd", policy("epd")),
        ("selective-drop", policy("selective-drop")),
        ("fba", policy("fba")),
        (
            "partial-packet-discard-whole",
            PolicyConfig::PartialPacketDiscard(PartialPacketDiscardConfig { keep_last }),
        ),
        (
            "epd-low",
            PolicyConfig::Epd(EpdConfig {
                threshold: 0.3,
                keep_last,
            }),
        ),
        (
            "selective-drop-strict",
            PolicyConfig::SelectiveDrop(SelectiveDropConfig {
                threshold: 0.5,
                z: 0.6,
                keep_last,
            }),
        ),
        (
            "fba-lenient",
            PolicyConfig::Fba(FbaConfig {
                threshold: 0.4,
                z: 1.5,
                keep_last,
            }),
        ),
    ]
}

fn ports(book: &mut Book) {
    let config = tcp(RecoveryKind::Sack, 65_535);
    let share = |share_ppb| SchedulerConfig::GuaranteedRate { share_ppb };
    let schedulers = [
        ("fifo", SchedulerConfig::Fifo {}, 0),
        ("priority", SchedulerConfig::Priority {}, 30 * MS),
        ("tenth", share(100_000_000), 30 * MS),
        ("most", share(900_000_000), 200 * MS),
    ];
    for (policy_name, policy) in policies() {
        for (name, scheduler, period) in &schedulers {
            let mut scenario = small(Framing::Aal5, &config);
            scenario.duration_ps /= 2;
            for link in scenario.links.iter_mut().filter(|link| link.from < 2) {
                link.policy = policy.clone();
            }
            if *period > 0 {
                scenario = add_vbr(scenario, scheduler.clone(), *period);
            }
            book.add(&format!("port/{policy_name}/{name}"), &scenario);
        }
    }
    for (name, scheduler) in [("priority", SchedulerConfig::Priority {}), ("half", share(500_000_000))] {
        // Two VBR sources that are slower than their links; the off times of one are not a multiple of the cell time.
        let scenario = add_vbr(small(Framing::Aal5, &config), scheduler.clone(), 7 * MS);
        let mut scenario = add_vbr(scenario, scheduler, 11 * MS + 1);
        scenario.duration_ps /= 2;
        for (number, source) in scenario.vbr.iter_mut().enumerate() {
            source.name = format!("vbr{number}");
            source.peak_bps = source.peak_bps * 2 / 3;
            source.off_ps += 12_345_678;
            source.start_ps = 50 * MS * number as u64;
        }
        book.add(&format!("two-vbr/{name}"), &scenario);
    }
}

fn pages(book: &mut Book) {
    for (medium, framing) in FRAMINGS {
        for (cut_name, cut) in [("rejection", PoissonCut::Rejection), ("clamping", PoissonCut::Clamping)] {
            for (from_name, cycle_from) in [("first", CycleFrom::FirstRequest), ("last", CycleFrom::LastRequest)] {
                let config = TcpConfig {
                    idle_restart: cycle_from == CycleFrom::FirstRequest,
                    ..tcp(RecoveryKind::Newreno, 32_768)
                };
                let mut scenario = small(framing, &config);
                scenario.links[1].loss = LossConfig::Bernoulli { probability: 0.02 };
                scenario.duration_ps *= 2;
                for flow in &mut scenario.flows {
                    flow.traffic = TrafficConfig::Web(WebConfig {
                        cut,
                        cycle_from,
                        ..web()
                    });
                }
                book.add(&format!("web/{cut_name}/{from_name}/{medium}"), &scenario);
            }
        }
    }
}

pub fn add_all(book: &mut Book) {
    end_points(book);
    linux(book);
    rfc_6675(book);
    links(book);
    buffers(book);
    ports(book);
    pages(book);
}
