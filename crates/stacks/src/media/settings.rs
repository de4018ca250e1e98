//! Settings of a flow with media, as `python/longpipe/scenario/stack.py` resolves them.

use super::encoder::KEY_FRAME;
use longpipe_end::Setup;

/// Length of the headers of a packet with video or audio [byte]: IPv4 and UDP (28), RTP with extensions (24), and the
/// tag of AES-256-GCM (16).
pub const OVERHEAD_BYTES: u64 = 68;
/// Largest RTP payload [byte], because str0m aims at UDP payloads of 1150 bytes.
pub const MAX_PAYLOAD_BYTES: u64 = 1100;
/// Maximum number of packets in a frame, because the field for it in the payload header has 16 bits.
const MAX_PACKETS: u64 = u16::MAX as u64;
/// Interval of audio packets [ps]: 20 ms, the default of Opus.
pub const AUDIO_INTERVAL_PS: u64 = 20_000_000_000;

/// Names of the settings of a flow.
const NAMES: [&str; 7] = [
    "congestion",
    "workload",
    "crypto",
    "lowest_rate",
    "highest_rate",
    "frame_rate",
    "audio_rate",
];

/// Settings of a flow. Rates refer to the encoded media, without headers.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Lowest rate of the video [bit/s].
    pub lowest_bps: u64,
    /// Highest rate of the video [bit/s].
    pub highest_bps: u64,
    /// Frames per second.
    pub frame_rate: u64,
    /// Constant rate of the audio [bit/s].
    pub audio_bps: u64,
}

impl Settings {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error that names the setting if a setting is invalid.
    pub fn read(setup: &Setup<'_>) -> Result<Settings, String> {
        setup.accept(&NAMES)?;
        if setup.setting("workload") != Some("media") {
            return Err("workload: str0m needs media".to_owned());
        }
        let settings = Settings {
            lowest_bps: setup.number("lowest_rate", 150_000)?,
            highest_bps: setup.number("highest_rate", 1_500_000)?,
            frame_rate: setup.number("frame_rate", 30)?,
            audio_bps: setup.number("audio_rate", 20_000)?,
        };
        let (rate, frames) = (settings.highest_bps, settings.frame_rate);
        let count = packets(KEY_FRAME * rate / 8 / frames);
        if count > MAX_PACKETS {
            let needs = format!("needs frames of at most {MAX_PACKETS} packets");
            return Err(format!(
                "highest_rate: {rate} bit/s; {needs}, which have up to {count} at a frame_rate of {frames}"
            ));
        }
        Ok(settings)
    }

    /// Returns the payload length [byte] of an audio packet.
    pub fn audio_bytes(&self) -> u64 {
        self.audio_bps * AUDIO_INTERVAL_PS / 8 / super::PS_PER_S
    }

    /// Returns the rate [bit/s] of the audio, including headers.
    pub fn audio_wire_bps(&self) -> u64 {
        8 * (self.audio_bytes() + OVERHEAD_BYTES) * (super::PS_PER_S / AUDIO_INTERVAL_PS)
    }

    /// Returns the rate including headers [bit/s] of a video whose encoded rate is `bps`.
    pub fn video_wire_bps(&self, bps: u64) -> u64 {
        let frame = bps / 8 / self.frame_rate;
        8 * self.frame_rate * (frame + packets(frame) * OVERHEAD_BYTES)
    }

    /// Returns the encoded rate of video [bit/s] at which video, audio and all headers use at most `bps`.
    pub fn video_bps(&self, bps: u64) -> u64 {
        let frame = bps.saturating_sub(self.audio_wire_bps()) / 8 / self.frame_rate;
        let packets = frame.div_ceil(MAX_PAYLOAD_BYTES + OVERHEAD_BYTES);
        8 * self.frame_rate * frame.saturating_sub(packets * OVERHEAD_BYTES)
    }
}

/// Returns the number of packets in a frame.
pub fn packets(frame_bytes: u64) -> u64 {
    frame_bytes.div_ceil(MAX_PAYLOAD_BYTES).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longpipe_end::Role;

    #[test]
    fn frames_have_at_most_65535_packets() {
        let read = |rate: &str, frames: &str| {
            let settings = [("workload", "media"), ("highest_rate", rate), ("frame_rate", frames)];
            let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let setup = Setup {
                role: Role::Sender,
                seed: 1,
                start_ps: 0,
                most_bytes: 1452,
                paths: 1,
                logs_packets: false,
                settings: &settings,
            };
            Settings::read(&setup).map(|settings| settings.highest_bps)
        };
        // 65535 packets of 1100 bytes carry 72.09 MB, which is the size of a key frame (four mean frames) at 144.18
        // Mbit/s.
        assert_eq!(read("144000000", "1"), Ok(144_000_000));
        let line = "highest_rate: 145000000 bit/s; needs frames of at most 65535 packets, which have up to 65910 at a \
                    frame_rate of 1";
        assert_eq!(read("145000000", "1"), Err(line.to_owned()));
        assert_eq!(read("1000000000", "30"), Ok(1_000_000_000));
    }

    #[test]
    fn the_rates_with_and_without_headers_are_inverse() {
        let of = Settings {
            lowest_bps: 150_000,
            highest_bps: 1_500_000,
            frame_rate: 30,
            audio_bps: 20_000,
        };
        // There are 50 bytes every 20 ms, plus 68 bytes of headers.
        assert_eq!((of.audio_bytes(), of.audio_wire_bps()), (50, 47_200));
        for bps in [150_000, 480_000, 1_500_000] {
            let rate = of.video_bps(of.video_wire_bps(bps) + of.audio_wire_bps());
            // The difference is at most one byte per frame.
            assert!(rate <= bps && bps - rate <= 8 * 30, "{bps}: {rate}");
        }
        assert_eq!(of.video_bps(10_000), 0);
    }
}
