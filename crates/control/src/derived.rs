//! Quantities that follow from the measurements of an agent's steps, for observations and rewards.

use crate::agent::{Row, FEATURES};

/// Names of the derived quantities: rates [bit/s], a share, and extremes over the steps of an episode [s, bit/s].
pub const DERIVED: [&str; 6] = [
    "send_rate",
    "delivery_rate",
    "receive_rate",
    "loss_rate",
    "lowest_mean_rtt",
    "highest_delivery_rate",
];

/// Measurements of a step, in the order of [`FEATURES`], followed by the derived quantities.
pub type Extended = [f64; FEATURES.len() + DERIVED.len()];

/// Extremes over the steps of an episode so far.
#[derive(Debug)]
pub struct Extremes<'a> {
    /// Lowest mean RTT of a step [s]; infinite before the first RTT sample.
    pub lowest_mean_rtt: &'a mut f64,
    /// Highest delivery rate of a step [bit/s].
    pub highest_delivery_rate: &'a mut f64,
}

/// Returns the measurements of a step, in which 0 replaces NaN, with the derived quantities; updates the extremes. A
/// quotient whose divisor is 0 is 0. `receive_rate` is PCC-RL's delivery rate, which excludes one packet of the step.
pub fn extend(row: &Row, extremes: Extremes<'_>) -> Extended {
    let measured = row.map(|value| if value.is_nan() { 0.0 } else { value });
    let [_, duration, _, _, delivered, lost, _, sent, rtt, .., mss] = measured;
    let delivery_rate = ratio(8.0 * delivered, duration);
    let Extremes {
        lowest_mean_rtt,
        highest_delivery_rate,
    } = extremes;
    if rtt > 0.0 {
        *lowest_mean_rtt = lowest_mean_rtt.min(rtt);
    }
    *highest_delivery_rate = highest_delivery_rate.max(delivery_rate);
    let derived = [
        ratio(8.0 * sent, duration),
        delivery_rate,
        ratio(8.0 * (delivered - mss), duration),
        ratio(lost, lost + delivered),
        if lowest_mean_rtt.is_finite() {
            *lowest_mean_rtt
        } else {
            0.0
        },
        *highest_delivery_rate,
    ];
    let mut extended = [0.0; FEATURES.len() + DERIVED.len()];
    let (first, last) = extended.split_at_mut(FEATURES.len());
    first.copy_from_slice(&measured);
    last.copy_from_slice(&derived);
    extended
}

/// Returns a quotient; 0 if the divisor is 0.
fn ratio(dividend: f64, divisor: f64) -> f64 {
    if divisor == 0.0 {
        0.0
    } else {
        dividend / divisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(extended: &Extended, name: &str) -> f64 {
        let names = FEATURES.iter().chain(&DERIVED);
        names.zip(extended).find(|(own, _)| **own == name).unwrap().1.to_owned()
    }

    #[test]
    fn rates_and_extremes_follow_from_the_steps_of_an_episode() {
        let (mut lowest_mean_rtt, mut highest_delivery_rate) = (f64::INFINITY, 0.0);
        let mut of = |fields: &[(&str, f64)]| {
            let mut row = [f64::NAN; FEATURES.len()];
            for (name, value) in fields {
                row[FEATURES.iter().position(|own| own == name).unwrap()] = *value;
            }
            let extremes = Extremes {
                lowest_mean_rtt: &mut lowest_mean_rtt,
                highest_delivery_rate: &mut highest_delivery_rate,
            };
            extend(&row, extremes)
        };
        let before = of(&[]);
        assert!(before.iter().all(|&value| value == 0.0));
        let first = of(&[
            ("duration", 0.5),
            ("sent", 4000.0),
            ("delivered", 3000.0),
            ("lost", 1000.0),
            ("rtt", 0.25),
            ("mss", 1000.0),
        ]);
        let rates = ["send_rate", "delivery_rate", "receive_rate", "loss_rate"].map(|name| named(&first, name));
        assert_eq!(rates, [64_000.0, 48_000.0, 32_000.0, 0.25]);
        let second = of(&[("duration", 1.0), ("delivered", 1000.0), ("rtt", 0.125)]);
        let extremes = ["lowest_mean_rtt", "highest_delivery_rate"].map(|name| named(&second, name));
        assert_eq!(extremes, [0.125, 48_000.0]);
    }
}
