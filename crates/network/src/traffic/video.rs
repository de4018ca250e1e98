//! Frames of video, each sent as several datagrams (RFC 8593 section 5).

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::{Pattern, Schedule};
use longpipe_events::{Span, Stream, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Live video at a constant mean rate: frames of varying size and spacing, each a burst of datagrams (RFC 8593).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[described(fact("repeats", "frame"))]
#[serde(deny_unknown_fields)]
pub struct VideoConfig {
    /// Mean rate of the payload [bit/s]; RFC 8593 has 150 kbit/s to 1.5 Mbit/s.
    #[field(range = "[1 kbit/s, 10 Tbit/s]", default = "1 Mbit/s")]
    pub rate_bps: u64,
    /// Mean time between frames [time]; RFC 8593 section 5, 30 frames/s.
    #[field(range = "[100 us, 1000 s]", default = "33.333 ms")]
    pub frame_ps: u64,
    /// Maximum payload per datagram [bytes].
    #[field(range = "[1 B, 65000 B]", default = "1200 B")]
    pub payload_bytes: u32,
    /// Mean deviation of the frame size, Laplace distribution [fraction]; RFC 8593 section 5.
    #[field(range = "[0, 1]", default = 0.15)]
    pub size_spread: f64,
    /// Mean deviation of the time between frames, Laplace distribution [fraction]; RFC 8593.
    #[field(range = "[0, 1]", default = 0.15)]
    pub time_spread: f64,
}

impl Parameters for VideoConfig {
    const FACTS: Facts = Facts {
        varies_length: true,
        draws: true,
        ..Facts::new(Transport::Datagrams)
    };

    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        self.invalid()
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
