//! Live video whose encoder follows the bitrate that the congestion control permits
//! (draft-ietf-ccwg-rfc8298bis-screamv2, section "Media Rate Control").

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use longpipe_events::{Span, Stream, Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::congestion::SCREAM_RATE_MARGIN;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;
use std::collections::VecDeque;

/// Live video whose frames follow the bitrate that the congestion control permits, such as SCReAMv2's.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(
    fact("in_lab", false),
    fact("repeats", "frame"),
    rule("max_rate", "max_rate < min_rate", "{max_rate}; needs at least min_rate, {min_rate}")
)]
pub struct MediaConfig {
    /// Time between frames [time]; draft-ietf-ccwg-rfc8298bis-screamv2, frame_period.
    #[field(range = "[100 us, 10 s]", default = "20 ms")]
    pub frame_ps: u64,
    /// Minimum bitrate of the encoder [bit/s]; draft-ietf-ccwg-rfc8298bis-screamv2, TARGET_BITRATE_MIN (RFC 8867 has 150
    /// kbit/s).
    #[field(range = "[1 kbit/s, 10 Gbit/s]", default = "150 kbit/s")]
    pub min_rate_bps: u64,
    /// Maximum bitrate of the encoder [bit/s]; draft-ietf-ccwg-rfc8298bis-screamv2, TARGET_BITRATE_MAX (the draft has no
    /// value).
    #[field(range = "[1 kbit/s, 10 Gbit/s]", default = "20 Mbit/s")]
    pub max_rate_bps: u64,
    /// Maximum deviation of a frame's size from the mean, uniformly distributed [fraction]; 0.5 in tests of SCReAM's
    /// authors.
    #[field(range = "[0, 1)", default = 0.0)]
    pub spread: f64,
    /// Delay from the encoder to the receiver above which a frame is late [time]; 250 ms in tests of C4's authors.
    #[field(range = "[0 s, 1000 s]", default = "250 ms")]
    pub deadline_ps: u64,
}

impl Parameters for MediaConfig {
    const FACTS: Facts = Facts {
        is_bulk: true,
        stands_for_udp: true,
        ..Facts::new(Transport::Tcp)
    };

    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        self.invalid()
    }

    fn application(&self, flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::Media(Box::new(Encoder::new(self, flow.stream("frames"))))
    }

    fn interval(&self, _tcp: &TcpConfig) -> Option<(&'static str, Span)> {
        Some(("frame", Span(self.frame_ps)))
    }
}

/// Gains and limits of the draft: RATE_ADJUST_GAIN, FRAME_SIZE_DEV_ALPHA, and the upper limits of both compensations.
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;
const MAX_RATE_ADJUST: f64 = 0.5;
const MAX_FRAME_SIZE_DEV: f64 = 0.2;

/// A frame that has not arrived completely.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Byte of the connection at which the frame ends.
    end: u64,
    written: Time,
}

/// Counters of the frames of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounters {
    /// Frames that the encoder has produced.
    pub frames: u64,
    /// Their sizes [byte].
    pub bytes: u64,
    /// Frames that have arrived completely.
    pub received: u64,
    /// Frames among them whose delay exceeded the deadline.
    pub late: u64,
    /// Sum of the delays from the encoder to the receiver [ps].
    pub delays: u128,
    /// Maximum delay.
    pub max_delay: Span,
}

/// The encoder of a source, and the frames between it and the receiver.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: MediaConfig,
    stream: Stream,
    /// Compensation for the media queue (`rate_adjust_factor`), and for frames that exceed their nominal size.
    rate_adjust: f64,
    frame_size_dev: f64,
    /// Frames of which the receiver lacks data, oldest first.
    undelivered: VecDeque<Frame>,
    /// Number of the frames in `undelivered` that have been sent completely.
    sent_frames: usize,
    counters: FrameCounters,
}

impl Encoder {
    /// Creates an encoder that draws the sizes of frames from a stream.
    pub fn new(config: &MediaConfig, stream: Stream) -> Encoder {
        Encoder {
            config: config.clone(),
            stream,
            rate_adjust: 0.0,
            frame_size_dev: 0.0,
            undelivered: VecDeque::new(),
            sent_frames: 0,
            counters: FrameCounters::default(),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> FrameCounters {
        self.counters
    }

    /// Returns the time of the next frame of a source that started at `start`.
    pub fn due(&self, start: Time) -> Time {
        Time(
            start
                .0
                .saturating_add(self.counters.frames.saturating_mul(self.config.frame_ps)),
        )
    }

    /// Produces a frame. `permitted_bps` is the bitrate that the congestion control permits, and `sent` the number of bytes
    /// that have been sent. Returns the number of bytes of all frames.
    pub fn write(&mut self, now: Time, permitted_bps: f64, sent: u64) -> u64 {
        let factor = if self.config.spread > 0.0 {
            1.0 + self.config.spread * (2.0 * self.stream.fraction() - 1.0)
        } else {
            1.0
        };
        self.encode(now, permitted_bps, factor, sent);
        self.counters.bytes
    }

    /// Produces a frame of `factor` times its nominal size.
    fn encode(&mut self, now: Time, permitted_bps: f64, factor: f64, sent: u64) {
        while self
            .undelivered
            .get(self.sent_frames)
            .is_some_and(|frame| frame.end <= sent)
        {
            self.sent_frames += 1;
        }
        let oldest = self.undelivered.get(self.sent_frames);
        let queued = oldest.map_or(0.0, |frame| now.since(frame.written).as_seconds());
        let seconds = Span(self.config.frame_ps).as_seconds();
        let compensated =
            permitted_bps * SCREAM_RATE_MARGIN / (SCREAM_RATE_MARGIN + self.rate_adjust + self.frame_size_dev);
        let (least, most) = (self.config.min_rate_bps as f64, self.config.max_rate_bps as f64);
        let nominal = compensated.max(least).min(most) * seconds / 8.0;
        let bytes = ((nominal * factor) as u64).max(1);
        let error = (queued - seconds / 4.0) / seconds;
        self.rate_adjust = (self.rate_adjust + error * RATE_ADJUST_GAIN).clamp(0.0, MAX_RATE_ADJUST);
        let deviation = ((bytes as f64 - nominal) / nominal).max(0.0);
        let average = (1.0 - FRAME_SIZE_DEV_ALPHA) * self.frame_size_dev + FRAME_SIZE_DEV_ALPHA * deviation;
        self.frame_size_dev = average.min(MAX_FRAME_SIZE_DEV);
        self.counters.frames += 1;
        self.counters.bytes += bytes;
        let end = self.counters.bytes;
        self.undelivered.push_back(Frame { end, written: now });
    }

    /// Records that `delivered` bytes have arrived.
    pub fn on_delivered(&mut self, now: Time, delivered: u64) {
        while let Some(frame) = self.undelivered.front().filter(|frame| frame.end <= delivered) {
            let delay = now.since(frame.written);
            self.counters.received += 1;
            self.counters.late += u64::from(delay.0 > self.config.deadline_ps);
            self.counters.delays += u128::from(delay.0);
            self.counters.max_delay = self.counters.max_delay.max(delay);
            self.undelivered.pop_front();
            self.sent_frames = self.sent_frames.saturating_sub(1);
        }
    }

    /// Returns the byte at which the oldest frame ends that has not arrived.
    pub fn awaited(&self) -> u64 {
        self.undelivered.front().map_or(u64::MAX, |frame| frame.end)
    }
}

impl FrameCounters {
    /// Returns the mean delay [s] of the frames that have arrived; NaN if there are none.
    pub fn mean_delay_s(&self) -> f64 {
        self.delays as f64 / self.received as f64 / PS_PER_SECOND as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that an independent program (tests/media_witness.py) computes by the rules of the draft.
    const WITNESS: &str = include_str!("media_witness.csv");

    fn encoder() -> Encoder {
        let config = MediaConfig {
            frame_ps: Span::millis(20).0,
            min_rate_bps: 150_000,
            max_rate_bps: 20_000_000,
            spread: 0.0,
            deadline_ps: Span::millis(250).0,
        };
        Encoder::new(&config, Stream::new(1, "frames", 0))
    }

    #[test]
    fn frames_equal_those_of_the_independent_program() {
        let mut encoder = encoder();
        let mut bytes = 0;
        for row in WITNESS.lines().skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let number = |index: usize| fields[index].parse::<f64>().expect(row);
            let now = Time(Span::micros(number(0) as u64).0);
            encoder.encode(now, number(1), number(2), number(3) as u64);
            bytes += number(4) as u64;
            assert_eq!(encoder.counters.bytes, bytes, "{row}");
            for (value, column) in [(encoder.rate_adjust, 5), (encoder.frame_size_dev, 6)] {
                assert!((value - number(column)).abs() < 1e-12, "{row}: {value}");
            }
        }
    }

    #[test]
    fn delays_count_from_the_encoder_to_the_last_byte() {
        let mut encoder = encoder();
        let at = |millis| Time(Span::millis(millis).0);
        encoder.write(at(0), 1e6, 0);
        let end = encoder.write(at(20), 1e6, 0);
        assert_eq!(encoder.awaited(), 2500);
        encoder.on_delivered(at(45), 2500);
        assert_eq!(encoder.awaited(), end);
        encoder.on_delivered(at(300), end);
        let counters = encoder.counters();
        assert_eq!((counters.received, counters.late), (2, 1));
        assert_eq!(counters.mean_delay_s(), (0.045 + 0.280) / 2.0);
        assert_eq!(encoder.awaited(), u64::MAX);
    }
}
