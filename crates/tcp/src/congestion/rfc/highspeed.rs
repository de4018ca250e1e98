//! HighSpeed TCP (RFC 3649): larger windows grow faster and are reduced less, so that they can be reached at realistic
//! loss rates.

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate};
use crate::congestion::flight::Flight;
use crate::congestion::growth::Growth;
use crate::congestion::linux::{Linux, Module, Socket};
use crate::congestion::paper_or_linux::{Ruled, Rules};
use crate::congestion::rfc::aimd::cut;
use crate::described::{is_default, Described};
use crate::variant::{Parameters, Variant};
use longpipe_events::Time;
use longpipe_json::FromJson;
use serde::Serialize;

/// Larger windows grow faster and are reduced less, according to the table of RFC 3649.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "HighSpeed", name = "HighSpeed")]
#[described(fact("after_loss", "a fraction that depends on the window (RFC 3649 section 5)"))]
pub struct HighspeedConfig {
    /// Interpolate between table rows, or like Linux use the rows only and halve cwnd at the first loss.
    #[serde(default, skip_serializing_if = "is_default")]
    #[field(default = "rfc-3649", profile("linux-6", "linux"), later)]
    pub rules: HighspeedRules,
}

/// Rules for the table of RFC 3649.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum HighspeedRules {
    /// Interpolation between the rows of the table.
    #[default]
    #[serde(rename = "rfc-3649")]
    Rfc3649,
    /// The rows of the table, without interpolation; the current row is updated in congestion avoidance only
    /// (tcp_highspeed.c).
    Linux,
}

impl Parameters for HighspeedConfig {}

impl Rules for HighspeedConfig {
    fn is_linux(&self) -> bool {
        self.rules == HighspeedRules::Linux
    }
}

/// HighSpeed TCP with either set of rules.
pub type Highspeed = Ruled<Rfc3649, Linux<LinuxHighspeed>>;

/// The RFC's rules, which have no state other than cwnd.
#[derive(Clone, Debug)]
pub struct Rfc3649;

impl Variant for Rfc3649 {
    type Config = HighspeedConfig;

    fn new(_config: &HighspeedConfig) -> Rfc3649 {
        Rfc3649
    }
}

impl Control for Rfc3649 {
    /// Counts delivered segments in slow start, and adds a(w) / w per ACK afterwards (section 5).
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        match Growth::of(ack, flight) {
            Some(growth) if growth.arrived > 0.0 => {
                let increase = response(growth.cwnd).0;
                growth.by(increase / growth.cwnd, flight)
            }
            Some(growth) => growth.by(0.0, flight),
            None => CwndUpdate::unchanged(flight),
        }
    }

    /// Reduces cwnd by the fraction b(w).
    fn on_reduction(&mut self, cause: Cause, _now: Time, flight: &Flight) -> CwndUpdate {
        let decrease = response(flight.window() as f64 / flight.mss()).1;
        CwndUpdate::reduced(cause, cut(flight, decrease), flight)
    }
}

/// Linux's rules: the rows of the table, without interpolation; the current row is updated in congestion avoidance only
/// (tcp_highspeed.c).
#[derive(Clone, Debug)]
pub struct LinuxHighspeed {
    /// Current row, from 0; row n adds n + 1 segments per RTT.
    row: usize,
}

/// Linux lacks the last row of the RFC's table.
const LINUX_ROWS: usize = TABLE.len() - 1;

impl Module for LinuxHighspeed {
    type Config = HighspeedConfig;

    fn new(_config: &HighspeedConfig) -> LinuxHighspeed {
        LinuxHighspeed { row: 0 }
    }

    fn init(&mut self, socket: &mut Socket) {
        // Limits the window so that its product with a row's b(w) fits into 32 bits.
        socket.snd_cwnd_clamp = socket.snd_cwnd_clamp.min(u32::MAX / 128);
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        if !socket.is_cwnd_limited() {
            return;
        }
        if socket.in_slow_start() {
            socket.slow_start(acked);
            return;
        }
        let row = TABLE.partition_point(|&(window, _)| window < socket.snd_cwnd);
        self.row = row.min(LINUX_ROWS - 1);
        if socket.snd_cwnd < socket.snd_cwnd_clamp {
            socket.snd_cwnd_cnt += self.row as u32 + 1;
            if socket.snd_cwnd_cnt >= socket.snd_cwnd {
                socket.snd_cwnd_cnt -= socket.snd_cwnd;
                socket.snd_cwnd += 1;
            }
        }
    }

    fn ssthresh(&mut self, _cause: Cause, socket: &Socket) -> u32 {
        let cut = socket.snd_cwnd * u32::from(LINUX_DECREASES[self.row]) / 256;
        (socket.snd_cwnd - cut).max(2)
    }
}

/// Returns a(w) [segment per RTT] and b(w) at a window of `w` segments, interpolated linearly between the rows of the
/// table. Logarithms are avoided because they differ between machines. Below the first row, the values are those of
/// AIMD; above the last row, they are those of the last row.
fn response(w: f64) -> (f64, f64) {
    let above = TABLE.partition_point(|&(window, _)| f64::from(window) <= w);
    let row = |number: usize| {
        let (window, hundredths) = TABLE[number];
        (f64::from(window), (number + 1) as f64, f64::from(hundredths) / 100.0)
    };
    match above {
        0 => (1.0, 0.5),
        _ if above == TABLE.len() => {
            let (_, increase, decrease) = row(above - 1);
            (increase, decrease)
        }
        _ => {
            let ((from, low, b_low), (to, high, b_high)) = (row(above - 1), row(above));
            let share = (w - from) / (to - from);
            (low + share * (high - low), b_low + share * (b_high - b_low))
        }
    }
}

/// The table of RFC 3649 appendix B: w [segment] and 100 b(w) of each row. a(w) is the number of the row, counted from
/// 1.
#[rustfmt::skip]
const TABLE: [(u32, u8); 73] = [
    (38, 50), (118, 44), (221, 41), (347, 38), (495, 37), (663, 35), (851, 34), (1058, 33),
    (1284, 32), (1529, 31), (1793, 30), (2076, 29), (2378, 28), (2699, 28), (3039, 27), (3399, 27),
    (3778, 26), (4177, 26), (4596, 25), (5036, 25), (5497, 24), (5979, 24), (6483, 23), (7009, 23),
    (7558, 22), (8130, 22), (8726, 22), (9346, 21), (9991, 21), (10661, 21), (11358, 20), (12082, 20),
    (12834, 20), (13614, 19), (14424, 19), (15265, 19), (16137, 19), (17042, 18), (17981, 18), (18955, 18),
    (19965, 17), (21013, 17), (22101, 17), (23230, 17), (24402, 16), (25618, 16), (26881, 16), (28193, 16),
    (29557, 15), (30975, 15), (32450, 15), (33986, 15), (35586, 14), (37253, 14), (38992, 14), (40808, 14),
    (42707, 13), (44694, 13), (46776, 13), (48961, 13), (51258, 13), (53677, 12), (56230, 12), (58932, 12),
    (61799, 12), (64851, 11), (68113, 11), (71617, 11), (75401, 10), (79517, 10), (84035, 10), (89053, 10),
    (94717, 9),
];

/// b(w) of each row in units of 1/256, as rounded by Linux.
#[rustfmt::skip]
const LINUX_DECREASES: [u8; LINUX_ROWS] = [
    128, 112, 104, 98, 93, 89, 86, 83, 81, 78, 76, 74, 72, 71, 69, 68, 66, 65, 64, 62, 61, 60, 59, 58,
    57, 56, 55, 54, 53, 52, 52, 51, 50, 49, 48, 48, 47, 46, 45, 45, 44, 43, 43, 42, 41, 41, 40, 39,
    39, 38, 38, 37, 36, 36, 35, 35, 34, 33, 33, 32, 32, 31, 30, 30, 29, 28, 28, 27, 26, 26, 25, 24,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    fn trial(window: f64) -> Trial {
        Trial::new(&CongestionConfig::Highspeed(HighspeedConfig::default()), window)
    }

    /// Returns b(w) of section 5, and a(w) with appendix B's rounded constant 0.078 instead of 1 / 12.8.
    fn formulas(w: f64) -> (f64, f64) {
        let b = (0.1 - 0.5) * (w.ln() - 38f64.ln()) / (83_000f64.ln() - 38f64.ln()) + 0.5;
        (w * w * 2.0 * b / ((2.0 - b) * w.powf(1.2) * 12.8), b)
    }

    /// Recomputes the table like the program of appendix B: a row for each increase of a(w) by one segment.
    #[test]
    fn rfc_3649_appendix_b_the_table() {
        let (mut rows, mut latest) = (vec![(38, 1, 50)], 1.0);
        for w in 38..100_000 {
            let (a, b) = formulas(f64::from(w));
            if a > latest + 1.0 {
                rows.push((w, a as usize, (100.0 * b).round() as u8));
                latest = a;
            }
        }
        let table: Vec<_> = TABLE.iter().enumerate().map(|(i, &(w, b))| (w, i + 1, b)).collect();
        assert_eq!(table, rows);
    }

    #[test]
    fn interpolated_a_and_b_are_within_two_percent_and_a_hundredth_of_the_formulas() {
        for w in (38..94_717).step_by(7).map(f64::from) {
            let ((a, b), (increase, decrease)) = (formulas(w), response(w));
            assert!((increase / a - 1.0).abs() < 0.02 || w < 118.0, "{w}: {increase} {a}");
            assert!((decrease - b).abs() < 0.01, "{w}: {decrease} {b}");
        }
        assert_eq!(
            [1.0, 38.0, 118.0, 94_717.0, 1e6].map(response),
            [(1.0, 0.5), (1.0, 0.5), (2.0, 0.44), (73.0, 0.09), (73.0, 0.09)]
        );
    }

    #[test]
    fn a_window_grows_by_a_of_w_per_rtt_and_is_reduced_by_b_of_w() {
        // The table has a row for 1058 segments.
        let window = trial(1058.0).round_trip();
        assert!((1065.9..1066.1).contains(&window), "{window}");
        assert_eq!(trial(1058.0).reduce(Cause::FastRetransmit), (708.0, 708.0));
        assert_eq!(trial(1058.0).reduce(Cause::Timeout), (1.0, 708.0));
        assert_eq!(trial(20.0).reduce(Cause::FastRetransmit), (10.0, 10.0));
    }

    /// Compares the response function of section 5, 0.12 / p^0.835, with the values of table 1 of RFC 9438.
    #[test]
    fn rfc_3649_the_mean_window_at_given_loss_rates() {
        for (period, expected) in [(1_000, 38.0), (10_000, 263.0), (100_000, 1795.0)] {
            let mean = trial(100.0).mean_window(period);
            assert!((mean / expected - 1.0).abs() < 0.05, "{period}: {mean}");
        }
    }

    #[test]
    fn linux_halves_the_window_at_the_end_of_slow_start_and_uses_the_row_later() {
        let config = CongestionConfig::Highspeed(HighspeedConfig {
            rules: HighspeedRules::Linux,
        });
        let mut trial = Trial::with_threshold(&config, 400.0, 1000.0);
        assert_eq!(trial.reduce(Cause::FastRetransmit).0, 200.0);
        // A window of 200 segments belongs to the row for 221 segments: it grows by three segments per RTT and is
        // reduced by the fraction 0.41.
        assert_eq!(trial.round_trip(), 202.0);
        // 0.41 in 256ths is 104.
        assert_eq!(
            trial.reduce(Cause::FastRetransmit).0,
            202.0 - (202.0f64 * 104.0 / 256.0).floor()
        );
    }
}
