//! Channel quality of a user: the rate at which it receives or sends, relative to the rate of the link.

use longpipe_events::{mix, Stream, Time};

/// Spectral efficiency by channel quality indicator, 1 to 15 (TS 36.213 table 7.2.3-1).
const EFFICIENCIES: [f64; 15] = [
    0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152,
    5.5547,
];
/// Mean of the drawn gains as an integer.
const UNIT: u64 = 1 << 32;

/// Returns the rate at a channel quality indicator relative to the rate at 15; 0 at 0, which is out of range.
pub(super) fn rate_of_cqi(cqi: u32) -> f64 {
    match cqi {
        0 => 0.0,
        cqi => EFFICIENCIES[cqi as usize - 1] / EFFICIENCIES[14],
    }
}

/// Rayleigh fading in blocks: the power gain is constant for the coherence time, then independent.
#[derive(Clone, Debug)]
struct Fading {
    seed: u64,
    entity: u64,
    coherence_ps: u64,
    /// Number of the present coherence time, and its gain.
    present: Option<(u64, f64)>,
}

/// Channel of a user.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    /// Times [ps] and rates from there on; the first also holds before.
    steps: Vec<(u64, f64)>,
    fading: Option<Fading>,
}

impl Channel {
    /// Creates a channel with these steps, and with fading for `entity` if there is a coherence time.
    pub fn new(steps: Vec<(u64, f64)>, coherence_ps: Option<u64>, seed: u64, entity: u64) -> Channel {
        let fading = coherence_ps.map(|coherence_ps| Fading {
            seed,
            entity,
            coherence_ps,
            present: None,
        });
        Channel { steps, fading }
    }

    /// Returns the rate at `now`, relative to the rate of the link.
    pub fn rate(&mut self, now: Time) -> f64 {
        let place = self.steps.partition_point(|&(time, _)| time <= now.0);
        let level = self.steps.get(place.saturating_sub(1)).map_or(1.0, |&(_, rate)| rate);
        level * self.fading.as_mut().map_or(1.0, |fading| fading.gain(now))
    }
}

impl Fading {
    fn gain(&mut self, now: Time) -> f64 {
        let number = now.0 / self.coherence_ps;
        match self.present {
            Some((present, gain)) if present == number => gain,
            _ => {
                let mut stream = Stream::new(self.seed ^ mix(number + 1), "fading", self.entity);
                let gain = stream.exponential(UNIT) as f64 / UNIT as f64;
                self.present = Some((number, gain));
                gain
            }
        }
    }
}
