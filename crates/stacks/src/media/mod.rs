//! A video call over str0m, a WebRTC stack (RTP over DTLS-SRTP): the simulator runs the real library against simulated
//! time, without sockets. The sender's encoder follows the bandwidth that Google's congestion control estimates from
//! the receiver's transport-wide feedback.

mod crypto;
mod encoder;
mod playout;
mod settings;

use encoder::Encoder;
use longpipe_end::{Ecn, End, Outbox, Report, Role, Setup, State, NEVER};
use playout::{Playout, HEADER_BYTES};
use settings::{packets, Settings, AUDIO_INTERVAL_PS};
use std::hash::RandomState;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use str0m::bwe::{Bitrate, BweKind};
use str0m::format::Codec;
use str0m::media::{MediaKind, Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::rtp::{RtpWrite, Ssrc};
use str0m::stats::MediaEgressStats;
use str0m::{Candidate, Event, IceCreds, Input, Output, Rtc};

/// Congestion control of the stack.
const CONTROL: &str = "gcc";
const PS_PER_S: u64 = 1_000_000_000_000;
const PS_PER_NS: u64 = 1_000;
/// Synchronization sources (SSRC) of the RTP streams: video, its retransmissions, and audio.
const VIDEO: u32 = 1;
const RTX_VIDEO: u32 = 2;
const AUDIO: u32 = 3;
/// Clock rates [Hz] of RTP timestamps (RFC 7741 section 4.1, RFC 7587 section 4.1).
const VIDEO_CLOCK_HZ: u64 = 90_000;
const AUDIO_CLOCK_HZ: u64 = 48_000;

/// Creates an end point of a session.
///
/// # Errors
/// Returns an error that names the setting if a setting is invalid.
pub fn create(setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
    let control = setup.setting("congestion").unwrap_or(CONTROL);
    if control != CONTROL {
        return Err(format!("congestion: {control}; needs {CONTROL}"));
    }
    let settings = Settings::read(setup)?;
    // The end is created in a new thread, so that the order of hash maps is determined by the seed.
    Ok(Box::new(getrandom::seeded(setup.seed, || Media::new(settings, setup))?))
}

/// One end of a session.
struct Media {
    settings: Settings,
    role: Role,
    /// Start of the session [ps].
    start_ps: u64,
    /// `Instant` that corresponds to time zero of the run.
    zero: Instant,
    rtc: Rtc,
    /// State of this end's generator of random numbers.
    random: u64,
    /// Time [ps] of the next call to the stack.
    due: u64,
    /// Video and audio of the sender; present once the session is connected.
    source: Option<Source>,
    /// Receiver of the frames.
    playout: Playout,
    /// Datagrams to be sent.
    pending: Vec<Vec<u8>>,
    /// Bandwidth estimate of the congestion control.
    estimate_bps: u64,
    /// Latest RTT that the stack reported.
    rtt: Option<Duration>,
    /// Numbers of packets sent and lost according to the latest statistics of video and audio.
    media: [Option<MediaEgressStats>; 2],
    /// Numbers of datagrams and of their bytes that the stack has sent.
    datagrams: u64,
    sent_bytes: u64,
    /// Time [ps] at which the session was connected.
    connected_ps: Option<u64>,
    /// Time [ps] at which the session was closed, and the reason.
    closed: Option<(u64, String)>,
}

/// Media of a sender, including the numbers of the next packets.
struct Source {
    encoder: Encoder,
    start_ps: u64,
    audio_packets: u64,
    video_packets: u64,
    video: Pt,
    audio: Pt,
}

impl Source {
    /// Returns the time [ps] of the next audio packet.
    fn audio_due(&self, settings: &Settings) -> u64 {
        if settings.audio_bps == 0 {
            return NEVER;
        }
        self.start_ps + self.audio_packets * AUDIO_INTERVAL_PS
    }

    /// Returns the time [ps] of the next frame or audio packet.
    fn due(&self, settings: &Settings) -> u64 {
        self.encoder.due().min(self.audio_due(settings))
    }
}

/// Returns a fixed address for an end, because the path has no addresses.
fn address(role: Role) -> SocketAddr {
    let last = if role == Role::Sender { 1 } else { 2 };
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)), 40_000)
}

/// ICE credentials of an end, which both ends know from signaling.
fn credentials(role: Role) -> IceCreds {
    let name = if role == Role::Sender { "sender" } else { "receiver" };
    IceCreds {
        ufrag: name.to_owned(),
        pass: format!("{name}-of-longpipe-media"),
    }
}

fn other(role: Role) -> Role {
    match role {
        Role::Sender => Role::Receiver,
        Role::Receiver => Role::Sender,
    }
}

fn cannot_start(error: &dyn std::fmt::Display) -> String {
    format!("cannot start: {error}")
}

/// Exchanges the addresses, credentials and fingerprints that the ends would learn from each other by signaling, and
/// starts DTLS.
fn signal(rtc: &mut Rtc, role: Role) -> Result<(), String> {
    let host = |role: Role| Candidate::host(address(role), "udp").map_err(|error| cannot_start(&error));
    rtc.add_local_candidate(host(role)?);
    rtc.add_remote_candidate(host(other(role))?);
    let mut direct = rtc.direct_api();
    // Both ends have the same certificate.
    let fingerprint = direct.local_dtls_fingerprint().clone();
    direct.set_remote_fingerprint(fingerprint);
    direct.set_remote_ice_credentials(credentials(other(role)));
    direct.set_ice_controlling(role == Role::Sender);
    direct
        .start_dtls(role == Role::Sender)
        .map_err(|error| cannot_start(&error))
}

/// Declares the video and audio streams, and sets the first and the highest bitrate of the sender's estimator.
fn declare_media(rtc: &mut Rtc, role: Role, settings: &Settings, first_bps: u64) {
    let mut direct = rtc.direct_api();
    let (video, audio) = (Mid::from("video"), Mid::from("audio"));
    direct.declare_media(video, MediaKind::Video);
    direct.declare_media(audio, MediaKind::Audio);
    if role == Role::Sender {
        direct.declare_stream_tx(VIDEO.into(), Some(RTX_VIDEO.into()), video, None);
        direct.declare_stream_tx(AUDIO.into(), None, audio, None);
        let max_bps = settings.video_wire_bps(settings.highest_bps) + settings.audio_wire_bps();
        rtc.bwe().set_bitrate(Bitrate::from(first_bps), Bitrate::from(max_bps));
    } else {
        direct.expect_stream_rx(VIDEO.into(), Some(RTX_VIDEO.into()), video, None);
        direct.expect_stream_rx(AUDIO.into(), None, audio, None);
        direct.enable_twcc_feedback();
    }
}

impl Media {
    /// Creates an end that has sent nothing and whose session starts at `setup.start_ps`.
    fn new(settings: Settings, setup: &Setup<'_>) -> Result<Media, String> {
        let (role, zero) = (setup.role, Instant::now());
        let start = zero + Duration::from_nanos(setup.start_ps / PS_PER_NS);
        seed_fastrand();
        let mut config = Rtc::builder()
            .set_crypto_provider(Arc::new(crypto::provider()))
            .set_dtls_cert(crypto::certificate())
            .set_local_ice_credentials(credentials(role))
            .set_stats_interval(Some(Duration::from_secs(1)))
            .set_rtp_mode(true);
        let first_bps = settings.video_wire_bps(settings.lowest_bps) + settings.audio_wire_bps();
        if role == Role::Sender {
            config = config.enable_bwe(Some(Bitrate::from(first_bps)));
        }
        let mut rtc = config.build(start);
        signal(&mut rtc, role)?;
        declare_media(&mut rtc, role, &settings, first_bps);
        Ok(Media {
            settings,
            role,
            start_ps: setup.start_ps,
            zero,
            rtc,
            random: getrandom::u64().map_err(|error| cannot_start(&error))?,
            due: setup.start_ps,
            source: None,
            playout: Playout::default(),
            pending: Vec::new(),
            estimate_bps: first_bps,
            rtt: None,
            media: [None, None],
            datagrams: 0,
            sent_bytes: 0,
            connected_ps: None,
            closed: None,
        })
    }

    /// Calls `work` with the randomness of this end.
    fn seeded<T>(&mut self, work: impl FnOnce(&mut Media) -> T) -> T {
        // The first hash map that a thread creates draws random keys. They must not come from the random numbers of
        // this end: only the first of several simulations in a thread would draw them.
        let _ = RandomState::new();
        let mut random = self.random;
        let result = getrandom::within(&mut random, || {
            seed_fastrand();
            work(self)
        });
        self.random = random;
        result
    }

    /// Converts a time of the run [ps] to the stack's clock.
    fn at(&self, ps: u64) -> Instant {
        self.zero + Duration::from_nanos(ps / PS_PER_NS)
    }

    /// Polls all outputs of the stack. This is necessary after each call that changes the stack.
    fn drain(&mut self, now: u64) -> Result<(), String> {
        loop {
            match self.rtc.poll_output().map_err(|error| error.to_string())? {
                Output::Timeout(at) => {
                    let ns = at.saturating_duration_since(self.zero).as_nanos();
                    self.due = u64::try_from(ns).map_or(NEVER, |ns| ns.saturating_mul(PS_PER_NS));
                    return Ok(());
                }
                Output::Transmit(sent) => {
                    self.datagrams += 1;
                    self.sent_bytes += sent.contents.len() as u64;
                    self.pending.push(sent.contents.to_vec());
                }
                Output::Event(event) => self.on_event(event, now),
            }
        }
    }

    /// Handles an event of the stack at `now` [ps].
    fn on_event(&mut self, event: Event, now: u64) {
        match event {
            Event::Connected => {
                self.connected_ps = Some(now);
                if self.role == Role::Sender {
                    self.source = self.new_source(now);
                }
            }
            Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) => {
                self.estimate_bps = estimate.as_u64();
                let target = self.settings.video_bps(self.estimate_bps);
                if let Some(source) = &mut self.source {
                    source.encoder.aim(now, target);
                }
            }
            Event::RtpPacket(packet) if packet.header.ssrc == Ssrc::from(VIDEO) => {
                self.playout.take(&packet.payload, now);
            }
            Event::RtpPacket(packet) if packet.header.ssrc == Ssrc::from(AUDIO) => {
                self.playout.take_audio(packet.payload.len());
            }
            Event::PeerStats(stats) => self.rtt = stats.rtt.or(self.rtt),
            Event::MediaEgressStats(stats) => {
                let index = usize::from(stats.mid == Mid::from("audio"));
                self.media[index] = Some(stats);
            }
            Event::Closed => self.closed = Some((now, "the peer closed the session".to_owned())),
            _ => {}
        }
    }

    /// Returns the media of a sender whose session is connected at `now` [ps]; None if the stack lacks a codec.
    fn new_source(&self, now: u64) -> Option<Source> {
        let payload_of = |codec: Codec| self.rtc.codec_config().find(|payload| payload.spec().codec == codec);
        Some(Source {
            encoder: Encoder::new(self.settings, now),
            start_ps: now,
            audio_packets: 0,
            video_packets: 0,
            video: payload_of(Codec::Vp8)?.pt(),
            audio: payload_of(Codec::Opus)?.pt(),
        })
    }

    /// Passes the audio and the frames that are due to the stack.
    fn send_media(&mut self, now: u64) -> Result<(), String> {
        while let Some(source) = self.source.as_mut().filter(|source| source.due(&self.settings) <= now) {
            if source.audio_due(&self.settings) <= source.encoder.due() {
                let (number, pt) = (source.audio_packets, source.audio);
                source.audio_packets += 1;
                let time = number * (AUDIO_INTERVAL_PS * AUDIO_CLOCK_HZ / PS_PER_S);
                let payload = vec![0; self.settings.audio_bytes() as usize];
                self.write(
                    AUDIO,
                    RtpWrite::new(pt, number.into(), time as u32, self.at(now), payload),
                    now,
                )?;
            } else {
                self.send_frame(now)?;
            }
        }
        Ok(())
    }

    /// Encodes the next video frame and passes its packets to the stack.
    fn send_frame(&mut self, now: u64) -> Result<(), String> {
        let random = getrandom::u32().map_err(|error| error.to_string())?;
        let wall = self.at(now);
        let Some(source) = &mut self.source else {
            return Ok(());
        };
        let frame = source.encoder.encode(f64::from(random) / f64::from(u32::MAX));
        let (count, pt, first) = (packets(frame.bytes), source.video, source.video_packets);
        source.video_packets += count;
        let time = (u128::from(frame.captured_ps) * u128::from(VIDEO_CLOCK_HZ) / u128::from(PS_PER_S)) as u32;
        for index in 0..count {
            // If the frame cannot be divided evenly, its first packets contain one more byte.
            let bytes = (frame.bytes / count + u64::from(index < frame.bytes % count)) as usize;
            let mut payload = vec![0; bytes.max(HEADER_BYTES)];
            playout::write_header(
                &mut payload,
                frame.number,
                index as u16,
                count as u16,
                frame.captured_ps,
            );
            let written = RtpWrite::new(pt, (first + index).into(), time, wall, payload)
                .marker(index + 1 == count)
                .nackable(true);
            self.write(VIDEO, written, now)?;
        }
        Ok(())
    }

    /// Passes an RTP packet of the stream `ssrc` to the stack.
    fn write(&mut self, ssrc: u32, packet: RtpWrite, now: u64) -> Result<(), String> {
        if let Some(stream) = self.rtc.direct_api().stream_tx(&ssrc.into()) {
            stream.write_rtp(packet);
        }
        self.drain(now)
    }

    /// Processes timeouts and media that are due at `now` [ps], and sends the resulting datagrams.
    fn act(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        if now >= self.due && self.rtc.is_alive() {
            let at = self.at(now);
            let handled = self.rtc.handle_input(Input::Timeout(at));
            handled.map_err(|error| error.to_string())?;
            self.drain(now)?;
        }
        self.send_media(now)?;
        for datagram in self.pending.drain(..) {
            // str0m does not set ECN bits.
            outbox.send(&datagram, Ecn::NotEct);
        }
        Ok(())
    }

    /// Passes a datagram from the peer to the stack.
    fn on_datagram(&mut self, now: u64, payload: &[u8]) -> Result<(), String> {
        let (own, peer) = (address(self.role), address(other(self.role)));
        // Other datagrams are ignored, as in an application that demultiplexes protocols.
        let Ok(received) = Receive::new(Protocol::Udp, peer, own, payload) else {
            return Ok(());
        };
        let input = Input::Receive(self.at(now), received);
        self.rtc.handle_input(input).map_err(|error| error.to_string())?;
        self.drain(now)
    }

    /// Returns the numbers of media packets that were sent and that the receiver reported as lost.
    fn counts(&self) -> (u64, u64) {
        let statistics = || self.media.iter().flatten();
        let lost = statistics().filter_map(|stats| Some(stats.remote.as_ref()?.packets_lost));
        (statistics().map(|stats| stats.packets).sum(), lost.sum())
    }
}

/// Seeds the thread's generator in the crate fastrand, which str0m uses.
fn seed_fastrand() {
    fastrand::seed(getrandom::u64().unwrap_or_default());
}

impl End for Media {
    fn due(&mut self) -> u64 {
        let media = self.source.as_ref().map_or(NEVER, |source| source.due(&self.settings));
        self.due.max(self.start_ps).min(media)
    }

    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        self.seeded(|media| media.act(now, outbox))
    }

    fn receive(&mut self, now: u64, payload: &[u8], _ecn: Ecn) -> Result<(), String> {
        self.seeded(|media| media.on_datagram(now, payload))
    }

    fn state(&mut self) -> State {
        let (sent_packets, lost_packets) = self.counts();
        State {
            srtt_ps: self
                .rtt
                .and_then(|rtt| u64::try_from(rtt.as_nanos()).ok())
                .map(|ns| ns * PS_PER_NS),
            pacing_bps: Some(self.estimate_bps),
            sent_packets,
            lost_packets,
            ..State::default()
        }
    }

    fn report(&mut self) -> Report {
        let mut report = Report {
            delivered_bytes: self.playout.delivered,
            handshake_ps: self.connected_ps,
            closed: self.closed.clone(),
            sent_packets: self.datagrams,
            sent_bytes: self.sent_bytes,
            lost_packets: self.counts().1,
            ..Report::default()
        };
        let mut values: Vec<(&str, f64)> = Vec::new();
        if self.role == Role::Receiver {
            let (count, mean, p95, max) = self.playout.frames();
            values.extend([
                ("complete_frames", count as f64),
                ("mean_frame_delay_s", mean),
                ("p95_frame_delay_s", p95),
                ("max_frame_delay_s", max),
            ]);
        } else if let Some(Source { encoder, .. }) = &self.source {
            let (target, height) = encoder.means();
            values.extend([
                ("srtt_s", self.rtt.map_or(f64::NAN, |rtt| rtt.as_secs_f64())),
                ("datagrams", self.datagrams as f64),
                ("estimate_bps", self.estimate_bps as f64),
                ("frames", f64::from(encoder.frames())),
                ("mean_target_bps", target),
                ("mean_height_px", height),
                ("resolution_switches", f64::from(encoder.switches)),
            ]);
        }
        report.values = values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        report
    }
}
