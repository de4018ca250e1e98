//! Frames of video, each sent as several datagrams (RFC 8593 section 5).

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::{datagrams_problem, Pattern, Schedule};
use crate::bounds::{refuse_unless, MAX_WAIT};
use longpipe_events::{Span, Stream, PS_PER_SECOND};
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Minimum interval [ps] between frames.
const MIN_FRAME: u64 = PS_PER_SECOND / 10_000;

/// Frames of video, each sent as several datagrams.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct VideoConfig {
    /// Mean rate [bit/s] of the frames' payload.
    pub rate_bps: u64,
    /// Mean interval [ps] between frames.
    pub frame_ps: u64,
    /// Maximum payload [byte] of a datagram.
    pub payload_bytes: u32,
    /// Mean absolute deviation of the frame length, as a fraction of the mean (Laplace distribution).
    pub size_spread: f64,
    /// Mean absolute deviation of the interval between frames, as a fraction of the mean (Laplace distribution).
    pub time_spread: f64,
}

impl Parameters for VideoConfig {
    const FACTS: Facts = Facts {
        varies_length: true,
        draws: true,
        ..Facts::new(Transport::Datagrams)
    };

    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        let share = |field: &str, share: f64| {
            refuse_unless((0.0..=1.0).contains(&share), field, share, "needs a number in [0, 1]")
        };
        datagrams_problem(self.rate_bps, self.payload_bytes)
            .or_else(|| {
                let fits = (MIN_FRAME..=MAX_WAIT).contains(&self.frame_ps);
                refuse_unless(fits, "frame", self.frame_ps, "needs 100 us to 1000 s, in ps")
            })
            .or_else(|| share("size_spread", self.size_spread))
            .or_else(|| share("time_spread", self.time_spread))
    }

    fn application(&self, flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::Datagrams(self.schedule(flow.stream("datagrams")))
    }

    fn payloads(&self) -> Option<[u32; 2]> {
        // The last datagram of a frame may carry only one byte.
        Some([1, self.payload_bytes])
    }

    fn interval(&self, _tcp: &TcpConfig) -> Option<(&'static str, Span)> {
        Some(("frame", Span(self.frame_ps)))
    }
}

impl VideoConfig {
    /// Returns the times and lengths of the datagrams.
    fn schedule(&self, mut stream: Stream) -> Schedule {
        let frames = Frames {
            begin: 0,
            left: self.frame_bytes(&mut stream),
            config: self.clone(),
        };
        Schedule::new(frames, stream)
    }

    /// Draws the payload [byte] of a frame.
    fn frame_bytes(&self, stream: &mut Stream) -> u64 {
        let mean = u128::from(self.rate_bps) * u128::from(self.frame_ps) / (8 * u128::from(PS_PER_SECOND));
        deviate(mean as u64, self.size_spread, stream).max(1)
    }
}

#[derive(Debug)]
struct Frames {
    config: VideoConfig,
    /// Send time [ps] of the current frame.
    begin: u64,
    /// Payload [byte] of the current frame that remains to be sent.
    left: u64,
}

impl Pattern for Frames {
    fn next(&mut self, stream: &mut Stream) -> Option<(u64, u32)> {
        if self.left == 0 {
            let gap = deviate(self.config.frame_ps, self.config.time_spread, stream);
            self.begin = self.begin.saturating_add(gap.max(1));
            self.left = self.config.frame_bytes(stream);
        }
        let payload = self.left.min(u64::from(self.config.payload_bytes));
        self.left -= payload;
        Some((self.begin, payload as u32))
    }
}

/// Draws from a Laplace distribution whose mean absolute deviation is `spread` times the mean; the result is limited to
/// the range from 0 to twice the mean.
fn deviate(mean: u64, spread: f64, stream: &mut Stream) -> u64 {
    let scale = (mean as f64 * spread) as u64;
    if scale == 0 {
        return mean;
    }
    let deviation = stream.exponential(scale).min(mean);
    if stream.below(2) == 0 {
        mean - deviation
    } else {
        mean + deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::schedule::first;

    #[test]
    fn video_frames_have_the_configured_rate_and_are_split_into_datagrams() {
        let video = VideoConfig {
            rate_bps: 1_500_000,
            frame_ps: PS_PER_SECOND / 30,
            payload_bytes: 1200,
            size_spread: 0.15,
            time_spread: 0.15,
        };
        let sent = first(|stream| video.schedule(stream), 300_000);
        let bytes: u64 = sent.iter().map(|one| u64::from(one.1)).sum();
        let rate = 8.0 * bytes as f64 / (sent[sent.len() - 1].0 as f64 / 1e12);
        assert!((rate / 1.5e6 - 1.0).abs() < 0.01, "{rate}");
        let frames: std::collections::BTreeSet<u64> = sent.iter().map(|one| one.0).collect();
        // 6250 bytes fill 5 datagrams of 1200 bytes and one of 250 bytes.
        let in_frame = sent.len() as f64 / frames.len() as f64;
        assert!((5.5..6.0).contains(&in_frame), "{in_frame}");
    }
}
