//! Injected losses: a link loses whole frames when they enter its port or interface.

use super::in_time::{LossSteps, States};
use longpipe_events::{Stream, Time};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Injected losses of a link: frames are lost when they enter the link's port, or because of bit errors at the end of
/// the link.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossConfig {
    /// No injected losses.
    #[described(name = "NoLoss")]
    None {},
    /// Loses the listed packets, numbered in the order in which they enter the link.
    #[described(name = "PacketLoss")]
    Packets {
        /// A list of packet numbers, counted from 0, as in [14, 28].
        #[field(range = "[0, 9223372036854775808)", ascending)]
        indices: Vec<u64>,
    },
    /// Loses every packet whose number, counted from 1, is a multiple of the interval (Mathis et al. 1997).
    #[described(name = "PeriodicLoss")]
    Periodic {
        /// A number of packets from one loss to the next [packets], as in 1000 for a loss rate of 0.1 %.
        #[field(range = "[1, 9223372036854775808)")]
        interval: u64,
        /// Number of consecutive packets that are lost each time [packets]; ns-2 burstlen_.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        #[field(range = "[1, 9223372036854775808)", default = 1, later)]
        burst: u64,
    },
    /// Loses the first packet that enters at or after each listed time.
    #[described(name = "TimedLoss")]
    AtTimes {
        /// A list of times [time], as in ['1 s', '1.5 s'].
        #[field(range = "[0 s, 100000 s]", ascending)]
        instants_ps: Vec<u64>,
    },
    /// Loses each packet independently, from the link's random stream.
    #[described(name = "BernoulliLoss", draws)]
    Bernoulli {
        /// A probability of a loss, per packet.
        #[field(range = "[0, 1]")]
        probability: f64,
    },
    /// Loses each packet independently with a time-varying probability, which is 0 before the first listed time.
    #[described(name = "LossOverTime", draws)]
    OverTime {
        /// A list of times [time] and the probability from then on, as in [['0 s', 0.0], ['15 s', 0.5]].
        #[field(each("[0 s, 100000 s]", "[0, 1]"), ascending)]
        steps_ps: Vec<(u64, f64)>,
    },
    /// Gilbert-Elliott model in time: states have exponential durations, so bursts do not depend on the load.
    #[described(name = "GilbertElliottTimeLoss", draws)]
    GilbertElliottInTime {
        /// A mean time in the good state [time].
        #[field(range = "[1 us, 1000 s]")]
        good_ps: u64,
        /// A mean time in the bad state [time].
        #[field(range = "[1 us, 1000 s]")]
        bad_ps: u64,
        /// Probability of a loss in the good state.
        #[field(range = "[0, 1]", default = 0.0)]
        loss_in_good: f64,
        /// Probability of a loss in the bad state.
        #[field(range = "[0, 1]", default = 1.0)]
        loss_in_bad: f64,
    },
    /// Gilbert-Elliott model: two states, with a transition before each packet (Gilbert 1960, Elliott 1963).
    #[described(name = "GilbertElliottLoss", draws)]
    GilbertElliott {
        /// A transition probability from good to bad, per packet.
        #[field(range = "[0, 1]")]
        good_to_bad: f64,
        /// A transition probability from bad to good, per packet.
        #[field(range = "[0, 1]")]
        bad_to_good: f64,
        /// Probability of a loss in the good state; Gilbert 1960.
        #[field(range = "[0, 1]", default = 0.0)]
        loss_in_good: f64,
        /// Probability of a loss in the bad state.
        #[field(range = "[0, 1]", default = 1.0)]
        loss_in_bad: f64,
    },
    /// Independent bit errors: a packet of n bits is lost with probability 1 - (1 - rate)^n at the end of the link.
    #[described(name = "BitErrorLoss", draws)]
    BitErrors {
        /// A bit error rate (BER): the probability that a bit is wrong, as in 1e-7.
        #[field(range = "[0, 1]")]
        rate: f64,
    },
}

fn one() -> u64 {
    1
}

fn is_one(burst: &u64) -> bool {
    *burst == 1
}

/// Loss model, which is invoked for each frame in the order of entry.
#[derive(Clone, Debug)]
pub enum Loss {
    /// Losses of frames given by their numbers, counted from 0.
    Packets {
        /// Numbers of lost frames, ascending.
        indices: Vec<u64>,
        /// Number of entries of `indices` that have passed.
        passed: usize,
        /// Number of frames so far.
        frames: u64,
    },
    /// Losses at a constant interval.
    Periodic {
        /// Number of frames from one loss to the next.
        interval: u64,
        /// Number of consecutive frames that are lost each time.
        burst: u64,
        /// Number of frames since the beginning of the latest loss.
        passed: u64,
        /// Number of frames that are still to be lost.
        left: u64,
    },
    /// Losses at given times.
    AtTimes {
        /// Times [ps], ascending.
        instants: Vec<u64>,
        /// Number of entries of `instants` that have passed.
        passed: usize,
    },
    /// Independent losses.
    Bernoulli {
        /// Loss probability.
        probability: Probability,
        /// Random stream of the link.
        stream: Stream,
    },
    /// Losses with a time-dependent probability.
    OverTime(LossSteps),
    /// Bursts of losses in continuous time.
    GilbertElliottInTime(States),
    /// Bursts of losses in a Markov chain that advances with each frame (Gilbert-Elliott).
    GilbertElliott {
        /// Probabilities of leaving the good state and the bad state.
        leave: [Probability; 2],
        /// Loss probabilities in the good and the bad state.
        lose: [Probability; 2],
        /// Whether the state is bad.
        bad: bool,
        /// Random stream of the link.
        stream: Stream,
    },
}

/// A probability in units of 2⁻⁶³.
#[derive(Clone, Copy, Debug)]
pub struct Probability(u64);

impl Probability {
    pub(super) fn new(probability: f64) -> Probability {
        Probability((probability * ONE as f64) as u64)
    }

    pub(super) fn draw(self, stream: &mut Stream) -> bool {
        stream.below(ONE) < self.0
    }
}

const ONE: u64 = 1 << 63;

impl Loss {
    /// Creates the losses of a link, which draws its own random numbers; None without losses.
    pub fn new(config: &LossConfig, seed: u64, link: u64) -> Option<Box<Loss>> {
        let stream = Stream::new(seed, "loss", link);
        Some(Box::new(match *config {
            LossConfig::None {} | LossConfig::BitErrors { .. } => return None,
            LossConfig::Packets { ref indices } => Loss::Packets {
                indices: indices.clone(),
                passed: 0,
                frames: 0,
            },
            LossConfig::Periodic { interval, burst } => Loss::Periodic {
                interval,
                burst,
                passed: 0,
                left: 0,
            },
            LossConfig::AtTimes { ref instants_ps } => Loss::AtTimes {
                instants: instants_ps.clone(),
                passed: 0,
            },
            LossConfig::Bernoulli { probability } => Loss::Bernoulli {
                probability: Probability::new(probability),
                stream,
            },
            LossConfig::OverTime { ref steps_ps } => Loss::OverTime(LossSteps::new(steps_ps, stream)),
            LossConfig::GilbertElliottInTime {
                good_ps,
                bad_ps,
                loss_in_good,
                loss_in_bad,
            } => Loss::GilbertElliottInTime(States::new(
                [good_ps, bad_ps],
                [loss_in_good, loss_in_bad],
                (seed, link),
            )),
            LossConfig::GilbertElliott {
                good_to_bad,
                bad_to_good,
                loss_in_good,
                loss_in_bad,
            } => Loss::GilbertElliott {
                leave: [good_to_bad, bad_to_good].map(Probability::new),
                lose: [loss_in_good, loss_in_bad].map(Probability::new),
                bad: false,
                stream,
            },
        }))
    }

    /// Returns whether the frame that is now entering the port is lost.
    pub fn loses(&mut self, now: Time) -> bool {
        match self {
            Loss::Packets {
                indices,
                passed,
                frames,
            } => {
                let lost = indices.get(*passed) == Some(frames);
                *passed += usize::from(lost);
                *frames += 1;
                lost
            }
            Loss::Periodic {
                interval,
                burst,
                passed,
                left,
            } => {
                *passed = (*passed + 1) % *interval;
                if *passed == 0 {
                    *left = *burst;
                }
                let lost = *left > 0;
                *left -= u64::from(lost);
                lost
            }
            Loss::AtTimes { instants, passed } => {
                let due = instants[*passed..].iter().take_while(|&&at| at <= now.0).count();
                *passed += due;
                due > 0
            }
            Loss::Bernoulli { probability, stream } => probability.draw(stream),
            Loss::OverTime(steps) => steps.loses(now),
            Loss::GilbertElliottInTime(states) => states.loses(now),
            Loss::GilbertElliott {
                leave,
                lose,
                bad,
                stream,
            } => {
                *bad ^= leave[usize::from(*bad)].draw(stream);
                lose[usize::from(*bad)].draw(stream)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(config: &LossConfig, frames: u64) -> Vec<u64> {
        let mut loss = Loss::new(config, 1, 0).expect("some loss");
        (0..frames).filter(|&frame| loss.loses(Time(10 * frame))).collect()
    }

    #[test]
    fn frames_are_lost_by_number_or_at_the_first_arrival_after_a_time() {
        let indices = vec![0, 3, 4];
        assert_eq!(lost(&LossConfig::Packets { indices }, 10), [0, 3, 4]);
        let instants_ps = vec![0, 11, 12, 30, 1000];
        assert_eq!(lost(&LossConfig::AtTimes { instants_ps }, 10), [0, 2, 3]);
    }

    #[test]
    fn periodic_losses_lose_every_frame_at_the_interval() {
        let every = |interval, burst| LossConfig::Periodic { interval, burst };
        assert_eq!(lost(&every(4, 1), 13), [3, 7, 11]);
        assert_eq!(lost(&every(1, 1), 3), [0, 1, 2]);
        assert!(every(0, 1).invalid().is_some());
    }

    #[test]
    fn periodic_losses_lose_each_burst_from_the_interval_on() {
        // ErrorModel/Periodic of ns-2 loses packet k period + i for each i below burstlen_, counted from 1.
        for (interval, burst) in [(4, 2), (7, 3), (5, 5), (3, 9)] {
            let expected = (1..=60).filter(|number| number >= &interval && number % interval < burst);
            let expected = expected.map(|number| number - 1).collect::<Vec<u64>>();
            assert_eq!(lost(&LossConfig::Periodic { interval, burst }, 60), expected);
        }
    }

    #[test]
    fn bernoulli_losses_have_the_configured_share_and_exact_extremes() {
        let share = |probability| lost(&LossConfig::Bernoulli { probability }, 100_000).len();
        assert!((900..1100).contains(&share(0.01)), "{}", share(0.01));
        assert_eq!((share(0.0), share(1.0)), (0, 100_000));
    }

    #[test]
    fn gilbert_elliott_losses_have_the_expected_share_and_burst_length() {
        let frames = lost(
            &LossConfig::GilbertElliott {
                good_to_bad: 0.01,
                bad_to_good: 0.25,
                loss_in_good: 0.0,
                loss_in_bad: 1.0,
            },
            200_000,
        );
        let bursts = 1 + frames.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
        let (share, length) = (frames.len() as f64 / 200_000.0, frames.len() as f64 / bursts as f64);
        assert!((share / (0.01 / 0.26) - 1.0).abs() < 0.1, "{share}");
        assert!((length / 4.0 - 1.0).abs() < 0.1, "{length}");
    }
}
