//! Capacity requests of a terminal: RBDC, VBDC and AVBDC by the rules of SNS3 (sns3-satellite e543342,
//! satellite-request-manager.cc) and of OpenSAND (9fff1c0, DamaAgentRcs2Legacy.cpp).

use crate::access::{StationAction, StationEvent};
use longpipe_events::Time;
use std::collections::VecDeque;

/// Over-estimate of the bytes that arrive, because of the encapsulation, in percent (SNS3).
const OVERESTIMATE_PERCENT: u64 = 110;
/// Time [ps] for which SNS3 counts its own rate requests as pending.
const PENDING_PS: u64 = 560_000_000_000;
/// Steps of rate requests [kbit/s] and of volume requests [byte]; a request has at most 256 of them (SNS3).
const RATE_STEPS_KBPS: [u64; 4] = [1, 4, 16, 64];
const VOLUME_STEPS_BYTES: [u64; 4] = [1, 8, 64, 512];
const MAX_STEPS: u64 = 256;
/// Time in which OpenSAND wants to send what is queued (MSL).
const OPENSAND_MSL_PS: u64 = 610_000_000_000;

/// A request for capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// RBDC: a rate [kbit/s], which replaces the previous one.
    Rate(u64),
    /// VBDC: a volume [byte], which is added to the previous ones.
    Volume(u64),
    /// AVBDC: a volume [byte], which replaces the previous ones.
    AbsoluteVolume(u64),
}

impl Request {
    /// Returns the event of the request in traces.
    pub fn event(self, action: StationAction) -> StationEvent {
        match self {
            Request::Rate(kbps) => StationEvent {
                rate_bps: 1000 * kbps,
                ..StationEvent::new(action, 0)
            },
            Request::Volume(bytes) | Request::AbsoluteVolume(bytes) => StationEvent::new(action, bytes),
        }
    }
}

/// What a terminal sees when it evaluates its requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evaluation {
    /// Time.
    pub now: Time,
    /// Time [ps] since the last evaluation.
    pub since_ps: u64,
    /// Bytes that have arrived since the last evaluation.
    pub arrived_bytes: u64,
    /// Bytes in the queue, and of the packet of which a part has been sent.
    pub queued_bytes: u64,
    /// Bytes that the plans since the last evaluation grant.
    pub assigned_bytes: u64,
}

/// Constants of a terminal's requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Duration [ps] of a superframe.
    pub superframe_ps: u64,
    /// Rate [kbit/s] that is granted without a request.
    pub constant_kbps: u64,
    /// Maximum rate [kbit/s] of a request, including the constant rate.
    pub max_kbps: u64,
    /// Maximum volume [byte] of a request.
    pub max_bytes: u64,
    /// Superframes after which the controller forgets a volume (SNS3).
    pub volume_persistence: u64,
    /// Superframes between two requests (OpenSAND).
    pub sync_frames: u64,
}

/// The rule of a terminal's requests, with its state.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// No requests.
    None,
    /// RBDC of SNS3: own requests [kbit/s] of the last 560 ms, with their times.
    Sns3Rate(VecDeque<(Time, u64)>),
    /// VBDC and AVBDC of SNS3: bytes requested and not yet granted, and the time of the last request.
    Sns3Volume { pending_bytes: u64, last: Time },
    /// RBDC of OpenSAND: the frame of the last request, the bits that have arrived since then, and the rates of the
    /// last requests [kbit/s].
    OpenSandRate {
        last_frame: u64,
        arrived_bits: u64,
        sent_kbps: VecDeque<u64>,
    },
    /// VBDC of OpenSAND.
    OpenSandVolume,
}

impl Rule {
    /// Returns whether the terminal has to evaluate its requests again although its queue is empty.
    pub fn is_pending(&self) -> bool {
        match self {
            Rule::None | Rule::Sns3Rate(_) | Rule::OpenSandVolume => false,
            Rule::Sns3Volume { pending_bytes, .. } => *pending_bytes > 0,
            Rule::OpenSandRate { sent_kbps, .. } => sent_kbps.back().is_some_and(|&kbps| kbps > 0),
        }
    }

    /// Returns the request of an evaluation, if the terminal sends one.
    pub fn evaluate(&mut self, limits: &Limits, seen: &Evaluation) -> Option<Request> {
        match self {
            Rule::None => None,
            Rule::Sns3Rate(pending) => sns3_rate(pending, limits, seen).map(Request::Rate),
            Rule::Sns3Volume { pending_bytes, last } => sns3_volume(pending_bytes, last, limits, seen),
            Rule::OpenSandRate {
                last_frame,
                arrived_bits,
                sent_kbps,
            } => {
                *arrived_bits += 8 * seen.arrived_bytes;
                let frame = seen.now.0 / limits.superframe_ps;
                let frames = frame.saturating_sub(*last_frame);
                if frames == 0 {
                    return None;
                }
                let kbps = opensand_kbps(limits, frames, (*arrived_bits, 8 * seen.queued_bytes), sent_kbps);
                if kbps == 0 && sent_kbps.back().is_none_or(|&last| last == 0) {
                    return None;
                }
                (*last_frame, *arrived_bits) = (frame, 0);
                sent_kbps.push_back(kbps);
                if sent_kbps.len() as u64 > (opensand_msl_frames(limits) / limits.sync_frames).max(1) {
                    sent_kbps.pop_front();
                }
                Some(Request::Rate(kbps))
            }
            Rule::OpenSandVolume => {
                let kbit = (8 * seen.queued_bytes).div_ceil(1000).min(8 * limits.max_bytes / 1000);
                (kbit > 0).then_some(Request::Volume(125 * kbit))
            }
        }
    }
}

/// Returns the rate [kbit/s] that SNS3 requests: R = a Rin + max(0, (Q - a Rin D - P D) / D) less the constant rate,
/// truncated to whole kbit/s and rounded up to a step.
fn sns3_rate(pending: &mut VecDeque<(Time, u64)>, limits: &Limits, seen: &Evaluation) -> Option<u64> {
    while pending
        .front()
        .is_some_and(|(sent, _)| sent.0 + PENDING_PS < seen.now.0)
    {
        pending.pop_front();
    }
    // All terms are in units of 1e-14 bit; a rate of 1 kbit/s sends 1e5 of them per ps.
    let scale = 1_000_000_000_000i128;
    let duration = i128::from(seen.since_ps) * 100_000;
    let arriving = i128::from(8 * OVERESTIMATE_PERCENT * seen.arrived_bytes) * scale;
    let own = pending.iter().map(|&(_, kbps)| i128::from(kbps)).sum::<i128>() * duration;
    let backlog = i128::from(800 * seen.queued_bytes) * scale - arriving - own;
    let total = arriving + backlog.max(0) - i128::from(limits.constant_kbps) * duration;
    let kbps = (total.max(0) / duration) as u64;
    let kbps = quantized(
        kbps.min(limits.max_kbps.saturating_sub(limits.constant_kbps)),
        RATE_STEPS_KBPS,
    );
    if kbps == 0 {
        return None;
    }
    pending.push_back((seen.now, kbps));
    Some(kbps)
}

/// Returns the volume that SNS3 requests: of what has arrived, or of the queue if nothing is pending or the
/// controller is about to forget what is pending.
fn sns3_volume(pending_bytes: &mut u64, last: &mut Time, limits: &Limits, seen: &Evaluation) -> Option<Request> {
    *pending_bytes = pending_bytes.saturating_sub(seen.assigned_bytes);
    let expires = last.0 + (limits.volume_persistence - 1) * limits.superframe_ps < seen.now.0;
    let resynchronizes = *pending_bytes > 0 && expires;
    if !resynchronizes && seen.arrived_bytes == 0 {
        return None;
    }
    let absolute = resynchronizes || *pending_bytes == 0;
    let wanted = if absolute {
        seen.queued_bytes
    } else {
        seen.arrived_bytes
    };
    if absolute {
        *pending_bytes = 0;
    }
    let volume = OVERESTIMATE_PERCENT * wanted / 100;
    let constant = u128::from(limits.constant_kbps) * u128::from(seen.since_ps) / 8_000_000_000;
    let volume = volume.saturating_sub(constant as u64).min(limits.max_bytes);
    if volume == 0 {
        return None;
    }
    let volume = quantized(volume, VOLUME_STEPS_BYTES);
    *pending_bytes += volume;
    *last = seen.now;
    Some(match absolute {
        true => Request::AbsoluteVolume(volume),
        false => Request::Volume(volume),
    })
}

/// Returns the rate [kbit/s] that OpenSAND requests: floor(A / (t Tf)) + floor(max(0, L - t Tf S) / (MSL Tf)).
fn opensand_kbps(limits: &Limits, frames: u64, (arrived, queued): (u64, u64), sent_kbps: &VecDeque<u64>) -> u64 {
    // A kbit/s sends 1e-9 bit per ps.
    let frame_ps = i128::from(limits.superframe_ps);
    let duration = i128::from(frames) * frame_ps;
    let kept = (opensand_msl_frames(limits) / limits.sync_frames) as usize;
    let pending: u64 = sent_kbps.iter().rev().take(kept).sum();
    let arriving = i128::from(arrived) * 1_000_000_000 / duration;
    let left = i128::from(queued) * 1_000_000_000 - duration * i128::from(pending);
    let backlog = left.max(0) / (i128::from(opensand_msl_frames(limits)) * frame_ps);
    ((arriving + backlog) as u64).min(limits.max_kbps)
}

fn opensand_msl_frames(limits: &Limits) -> u64 {
    (OPENSAND_MSL_PS / limits.superframe_ps).max(1)
}

/// Returns a value rounded up to a multiple of the smallest step of which 256 suffice; at most 256 of the last step.
fn quantized(value: u64, steps: [u64; 4]) -> u64 {
    let step = steps.into_iter().find(|step| value <= MAX_STEPS * step);
    let step = step.unwrap_or(steps[3]);
    (value.div_ceil(step) * step).min(MAX_STEPS * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of the table of requests: the rule with the pattern of arrivals, what the terminal sees, and the request.
    struct Row {
        sequence: String,
        seen: Evaluation,
        /// Kind of the request and its value, in kbit/s, byte or kbit.
        request: (String, u64),
    }

    fn rows() -> Vec<Row> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/access/requests.csv");
        let text = std::fs::read_to_string(path).expect("the table of requests");
        let lines = text.lines().filter(|line| line.starts_with("request "));
        let row = |line: &str| {
            let columns: Vec<&str> = line.split(',').collect();
            let condition = |name: &str| {
                let mut pairs = columns[1].split(' ').filter_map(|pair| pair.split_once('='));
                pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
            };
            let number = |name: &str| condition(name).map_or(0, |value| value.parse::<u64>().expect("a number"));
            let (rule, pattern) = (
                condition("rule").expect("a rule"),
                condition("pattern").expect("a pattern"),
            );
            let in_frames = rule.starts_with("opensand");
            Row {
                sequence: format!("{rule} {pattern}"),
                seen: Evaluation {
                    now: Time(number("t_ms") * 1_000_000_000 + number("frame") * 26_500_000_000),
                    since_ps: 100_000_000_000,
                    arrived_bytes: number("arrived") + number("arrived_bits") / 8,
                    queued_bytes: if in_frames {
                        number("queue_bits") / 8
                    } else {
                        number("queue")
                    },
                    assigned_bytes: number("assigned"),
                },
                request: (
                    condition("kind").expect("a kind").to_owned(),
                    columns[2].parse().expect("a value"),
                ),
            }
        };
        lines.map(row).collect()
    }

    fn rule_of(sequence: &str) -> (Rule, Limits) {
        let sns3 = Limits {
            superframe_ps: 100_000_000_000,
            constant_kbps: if sequence.contains("cra50") { 50 } else { 0 },
            max_kbps: 9216,
            max_bytes: 384 << 10,
            volume_persistence: 7,
            sync_frames: 1,
        };
        let opensand = Limits {
            superframe_ps: 26_500_000_000,
            max_kbps: 16_320,
            max_bytes: 4_080_000 / 8,
            sync_frames: if sequence.contains("sync10") { 10 } else { 38 },
            ..sns3
        };
        let rate = Rule::OpenSandRate {
            last_frame: 0,
            arrived_bits: 0,
            sent_kbps: VecDeque::new(),
        };
        let volume = Rule::Sns3Volume {
            pending_bytes: 0,
            last: Time::ZERO,
        };
        match sequence.split(' ').next().expect("a rule") {
            "sns3-rbdc" | "sns3-rbdc-cra50" => (Rule::Sns3Rate(VecDeque::new()), sns3),
            "sns3-vbdc" | "sns3-vbdc-lost" => (volume, sns3),
            "opensand-vbdc" => (Rule::OpenSandVolume, opensand),
            _ => (rate, opensand),
        }
    }

    #[test]
    fn requests_equal_those_of_sns3_and_opensand() {
        let rows = rows();
        assert!(rows.len() > 500, "{} rows", rows.len());
        let mut state: Option<(&str, Rule, Limits)> = None;
        for row in &rows {
            if state.as_ref().is_none_or(|(sequence, ..)| *sequence != row.sequence) {
                let (rule, limits) = rule_of(&row.sequence);
                state = Some((&row.sequence, rule, limits));
            }
            let Some((_, rule, limits)) = &mut state else { continue };
            // OpenSAND's rows count what has arrived since the last request, and the rule accumulates it.
            if let Rule::OpenSandRate { arrived_bits, .. } = rule {
                *arrived_bits = 0;
            }
            let request = match rule.evaluate(limits, &row.seen) {
                None => ("none".to_owned(), 0),
                Some(Request::Rate(kbps)) => ("RBDC".to_owned(), kbps),
                Some(Request::Volume(bytes)) if row.sequence.starts_with("opensand") => {
                    ("VBDC".to_owned(), bytes / 125)
                }
                Some(Request::Volume(bytes)) => ("VBDC".to_owned(), bytes),
                Some(Request::AbsoluteVolume(bytes)) => ("AVBDC".to_owned(), bytes),
            };
            assert_eq!(request, row.request, "{} {:?}", row.sequence, row.seen);
        }
    }
}
