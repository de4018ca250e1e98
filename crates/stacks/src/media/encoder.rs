//! Model of a video encoder. It produces no images, only frame sizes that follow the target rate, on a ladder of
//! resolutions.

use super::settings::Settings;
use super::PS_PER_S;
use std::collections::VecDeque;

/// Heights of the pictures, each with the rate [bit/s] at and above which it is used: the highest rate at which
/// libwebrtc sends the next lower resolution (`kSimulcastFormats` in video/config/simulcast.cc).
const LADDER: [(u32, u64); 6] = [
    (180, 0),
    (270, 200_000),
    (360, 450_000),
    (540, 700_000),
    (720, 1_200_000),
    (1080, 2_500_000),
];
/// The encoder steps down if the target is below this share of the rate at and above which the resolution is used.
const DOWN: (u64, u64) = (9, 10);
/// Time from a new target to the first frame that complies with it (RFC 8867 section 4).
const REACTION_PS: u64 = PS_PER_S / 10;
/// Maximum relative deviation of the sizes of frames, which are uniformly distributed (RFC 8867 section 4).
const VARIATION: f64 = 0.05;
/// Size of a key frame relative to the mean frame size. The first frame of each resolution is a key frame; the frames
/// of the following second are smaller, to compensate for its excess.
pub const KEY_FRAME: u64 = 4;

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Number of the frame, starting at 0.
    pub number: u32,
    /// Length [byte].
    pub bytes: u64,
    /// Capture time [ps].
    pub captured_ps: u64,
}

/// The encoder.
#[derive(Debug)]
pub struct Encoder {
    settings: Settings,
    start_ps: u64,
    /// Number of encoded frames.
    frames: u32,
    /// Index of the current resolution in `LADDER`.
    rung: usize,
    target_bps: u64,
    /// Pending targets, each with the time [ps] at which it takes effect.
    coming: VecDeque<(u64, u64)>,
    /// Whether the next frame is a key frame.
    is_key: bool,
    /// Excess [byte] of key frames that has not been compensated for yet.
    excess: u64,
    /// Sums over all frames of the target [bit/s] and of the height [pixel].
    sum_target: u64,
    sum_height: u64,
    /// Number of changes of the resolution.
    pub switches: u32,
}

impl Encoder {
    /// Returns an encoder that starts at the lowest rate; its first frame is due at `start_ps`.
    pub fn new(settings: Settings, start_ps: u64) -> Encoder {
        let mut encoder = Encoder {
            settings,
            start_ps,
            frames: 0,
            rung: 0,
            target_bps: settings.lowest_bps,
            coming: VecDeque::new(),
            is_key: true,
            excess: 0,
            sum_target: 0,
            sum_height: 0,
            switches: 0,
        };
        encoder.rung = encoder.wanted();
        encoder
    }

    /// Returns the time of the next frame [ps].
    pub fn due(&self) -> u64 {
        self.start_ps + u64::from(self.frames) * PS_PER_S / self.settings.frame_rate
    }

    /// Sets a new target for the encoded rate [bit/s] at time `now` [ps]; frames follow it after `REACTION_PS`.
    pub fn aim(&mut self, now: u64, bps: u64) {
        let bps = bps.clamp(self.settings.lowest_bps, self.settings.highest_bps);
        self.coming.push_back((now + REACTION_PS, bps));
    }

    /// Encodes the frame that is due. `random` is a uniformly distributed number from 0 to 1.
    pub fn encode(&mut self, random: f64) -> Frame {
        let captured_ps = self.due();
        while let Some(&(from, bps)) = self.coming.front() {
            if from > captured_ps {
                break;
            }
            self.coming.pop_front();
            self.target_bps = bps;
        }
        let rung = self.wanted();
        if rung != self.rung {
            self.rung = rung;
            self.is_key = true;
            self.switches += 1;
        }
        let mean = (self.target_bps / 8 / self.settings.frame_rate).max(1);
        let factor = 1.0 + VARIATION * (2.0 * random - 1.0);
        let mut bytes = (mean as f64 * factor) as u64;
        if self.is_key {
            self.is_key = false;
            self.excess += (KEY_FRAME - 1) * mean;
            bytes = KEY_FRAME * mean;
        } else {
            let repaid = self
                .excess
                .min(KEY_FRAME * mean / self.settings.frame_rate)
                .min(bytes / 2);
            self.excess -= repaid;
            bytes -= repaid;
        }
        let frame = Frame {
            number: self.frames,
            bytes: bytes.max(1),
            captured_ps,
        };
        self.frames += 1;
        self.sum_target += self.target_bps;
        self.sum_height += u64::from(self.height());
        frame
    }

    /// Returns the index of the resolution for the target. Because of hysteresis, the current resolution is kept near a
    /// limit.
    fn wanted(&self) -> usize {
        let by_rate = |rate: u64| LADDER.iter().rposition(|(_, from)| *from <= rate).unwrap_or(0);
        let up = by_rate(self.target_bps);
        if up >= self.rung {
            return up;
        }
        // A step down is considered only if the target is clearly below the limit.
        by_rate(self.target_bps * DOWN.1 / DOWN.0).min(self.rung)
    }

    /// Returns the height of the pictures.
    pub fn height(&self) -> u32 {
        LADDER[self.rung].0
    }

    /// Returns the number of frames.
    pub fn frames(&self) -> u32 {
        self.frames
    }

    /// Returns the means over all frames of the target [bit/s] and of the height.
    pub fn means(&self) -> (f64, f64) {
        let count = f64::from(self.frames);
        (self.sum_target as f64 / count, self.sum_height as f64 / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoder() -> Encoder {
        let settings = Settings {
            lowest_bps: 150_000,
            highest_bps: 1_500_000,
            frame_rate: 30,
            audio_bps: 20_000,
        };
        Encoder::new(settings, 0)
    }

    #[test]
    fn the_mean_rate_equals_the_target_despite_key_frames() {
        let mut encoder = encoder();
        let frames: Vec<Frame> = (0..90).map(|_| encoder.encode(0.5)).collect();
        let bits: u64 = 8 * frames.iter().map(|frame| frame.bytes).sum::<u64>();
        assert_eq!(frames[0].bytes, 4 * 625);
        assert!((bits as f64 / 3.0 - 150_000.0).abs() < 1500.0, "{bits}");
        assert_eq!(frames[89].captured_ps, 89 * PS_PER_S / 30);
    }

    #[test]
    fn a_target_applies_after_100_ms_and_the_resolution_has_hysteresis() {
        let mut encoder = encoder();
        encoder.aim(0, 5_000_000);
        let heights: Vec<u32> = (0..5)
            .map(|_| {
                encoder.encode(0.5);
                encoder.height()
            })
            .collect();
        // Frame 3 is the first frame at or after 100 ms; the rate is at most the highest rate.
        assert_eq!(heights, [180, 180, 180, 720, 720]);
        encoder.aim(0, 1_150_000);
        encoder.encode(0.5);
        assert_eq!((encoder.height(), encoder.switches), (720, 1));
        encoder.aim(0, 1_000_000);
        encoder.encode(0.5);
        assert_eq!((encoder.height(), encoder.switches), (540, 2));
    }
}
