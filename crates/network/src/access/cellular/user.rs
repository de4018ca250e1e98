//! A user: its channel quality, and when it can send and receive, by handovers, discontinuous reception (DRX) and the
//! release of idle users (RRC).

use super::frame::Way;
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

/// Discontinuous reception, with times as numbers of slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drx {
    pub cycle: u64,
    /// Time for which an inactive user receives at the start of a cycle.
    pub on: u64,
    /// Time after the last data after which a user is inactive.
    pub inactivity: u64,
}

/// Rules of a link, with times as numbers of slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Presence {
    /// Time between two handovers, and for which each interrupts the link.
    pub handover: Option<(u64, u64)>,
    /// Whether a handover keeps what has not been delivered.
    pub forwards: bool,
    pub drx: Option<Drx>,
    /// Time of the promotion, and after the last data until the release.
    pub promotion: Option<(u64, u64)>,
}

/// State of a user, which its two directions share.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Activity {
    /// Last slot with new data, or of a promotion; None before the first.
    pub last: Option<u64>,
    /// First slot after the last promotion.
    pub promoted: u64,
}

impl Presence {
    /// Returns the first slot from `slot` on in which new data of a direction may be sent. `resumes` is the end of the last
    /// handover.
    pub fn available(&self, way: Way, slot: u64, resumes: u64, activity: Activity) -> u64 {
        let slot = slot.max(resumes).max(activity.promoted);
        let Some(drx) = self.drx.filter(|_| way == Way::Down) else {
            return slot;
        };
        let is_active = activity.last.is_some_and(|last| slot <= last + drx.inactivity);
        match slot % drx.cycle {
            within if is_active || within < drx.on => slot,
            within => slot + drx.cycle - within,
        }
    }

    /// Returns whether the user is never promoted and never changes its base station.
    pub fn is_steady(&self) -> bool {
        self.handover.is_none() && self.promotion.is_none()
    }

    /// Promotes a released user that has data to send in a slot.
    pub fn promote(&self, slot: u64, activity: &mut Activity) {
        let Some((promotion, release)) = self.promotion else {
            return;
        };
        if activity.last.is_none_or(|last| slot > last + release) {
            activity.promoted = slot + promotion;
            activity.last = Some(activity.promoted);
        }
    }

    /// Returns the slot of the next handover after `slot`, and the end of the interruption by the one before it.
    pub fn handover(&self, slot: u64) -> Option<(u64, u64)> {
        let (every, interruption) = self.handover?;
        let before = slot / every * every;
        let end = if before > 0 { before + interruption } else { 0 };
        Some((before + every, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_available_by_drx_and_after_a_promotion() {
        let drx = Drx {
            cycle: 320,
            on: 20,
            inactivity: 200,
        };
        let presence = Presence {
            handover: Some((2000, 100)),
            forwards: true,
            drx: Some(drx),
            promotion: Some((682, 20_000)),
        };
        let mut activity = Activity::default();
        let available = |slot, activity| presence.available(Way::Down, slot, 0, activity);
        assert_eq!((available(10, activity), available(20, activity)), (10, 320));
        assert_eq!(presence.available(Way::Up, 20, 0, activity), 20);
        presence.promote(20, &mut activity);
        assert_eq!((available(20, activity), available(902, activity)), (702, 902));
        assert_eq!(available(903, activity), 960);
        // The user is connected until it is released.
        presence.promote(20_702, &mut activity);
        assert_eq!(activity.promoted, 702);
        presence.promote(20_703, &mut activity);
        assert_eq!(activity.promoted, 21_385);
        assert_eq!(
            (presence.handover(1999), presence.handover(2000)),
            (Some((2000, 0)), Some((4000, 2100)))
        );
    }
}
