//! Conservative loss recovery based on SACK (RFC 6675): data count as lost if enough data sent after them have arrived.
//! PIPE, recomputed with each ACK, determines how much may be sent. If nothing else can be sent, the last segment is
//! retransmitted ("rescue").

mod board;

use super::recover::{Advance, Next, Recover, Resend};
use super::trigger::Trigger;
use crate::congestion::control::Cause;
use crate::congestion::flight::Flight;
use crate::described::Described;
use crate::recovery::window_handle::WindowHandle;
use crate::segment::AckSegment;
use crate::variant::{Facts, Parameters, Variant};
use board::{Board, LostLimit};
use longpipe_json::FromJson;
use serde::Serialize;

/// Conservative SACK recovery with IsLost(), PIPE, NextSeg() and the rescue retransmission (RFC 6675).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "SACK (RFC 6675)")]
#[described(fact("detection", "SACK blocks reported a loss (RFC 6675 section 5)"))]
pub struct Rfc6675Config {
    /// Maximum number of SACK blocks per ACK; 3 fit with a timestamp, RFC 2018 section 3.
    #[field(range = "[1, 3]", default = 3)]
    pub blocks: u32,
    /// Forward acknowledgment: declare all holes below the highest SACKed byte lost, and start recovery when they
    /// exceed three segments (Mathis and Mahdavi 1996).
    #[serde(default, skip_serializing_if = "crate::described::is_default")]
    #[field(default = false, later)]
    pub fack: bool,
}

impl Parameters for Rfc6675Config {
    fn facts(&self) -> Facts {
        Facts {
            sack_blocks: self.blocks,
            ..Self::FACTS
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SackPhase {
    /// Only the window limits the sender.
    Open,
    /// A duplicate ACK without evidence of a loss arrived: one new segment is sent per delivered segment (section 5,
    /// step 3).
    Limited,
    /// Loss recovery, which lasts until all data below this byte (RecoveryPoint) are acknowledged.
    Recovery(u64),
    /// Repair after a timeout, until all data below this byte are acknowledged; no recovery starts before that (section
    /// 5.1).
    Loss(u64),
}

/// State of one sender.
#[derive(Clone, Debug)]
pub struct Rfc6675 {
    fack: bool,
    phase: SackPhase,
    board: Board,
    /// Number of duplicate ACKs since SND.UNA last advanced (DupAcks). A duplicate ACK reports new data beyond SND.UNA.
    duplicates: u32,
    /// Whether the latest ACK reported new data beyond SND.UNA.
    reports_new_data: bool,
    lost: LostLimit,
    /// Data in flight (pipe) [byte].
    pipe: u64,
    /// Byte whose acknowledgment permits a rescue retransmission (RescueRxt); None after the rescue.
    rescue: Option<u64>,
}

impl Variant for Rfc6675 {
    type Config = Rfc6675Config;

    fn new(config: &Rfc6675Config) -> Rfc6675 {
        Rfc6675 {
            fack: config.fack,
            phase: SackPhase::Open,
            board: Board::default(),
            duplicates: 0,
            reports_new_data: false,
            lost: LostLimit::default(),
            pipe: 0,
            rescue: None,
        }
    }
}

impl Recover for Box<Rfc6675> {
    fn is_on(&self) -> bool {
        self.phase != SackPhase::Open
    }

    fn repairs(&self) -> bool {
        matches!(self.phase, SackPhase::Recovery(_))
    }

    fn is_idle(&self) -> bool {
        self.phase == SackPhase::Open && self.board.is_empty()
    }

    /// Returns whether the ACK is a duplicate: it reports new data beyond SND.UNA, even if it also advances SND.UNA
    /// (section 2).
    fn on_ack(&mut self, ack: &AckSegment) -> bool {
        self.reports_new_data = self.board.update(ack.acknowledgement, ack.blocks_beyond());
        self.reports_new_data || matches!(self.phase, SackPhase::Recovery(_) | SackPhase::Loss(_))
    }

    fn on_duplicate(&mut self, handle: &mut WindowHandle, trigger: Trigger) -> Resend {
        self.process_ack(handle, trigger)
    }

    fn on_advance(&mut self, handle: &mut WindowHandle, _acked: u64, trigger: Trigger) -> Advance {
        self.duplicates = 0;
        let (una, repaired) = (handle.flight().una, self.repairs());
        if let SackPhase::Recovery(end) | SackPhase::Loss(end) = self.phase {
            if una >= end {
                self.phase = SackPhase::Open;
                if repaired {
                    handle.recovered(false);
                }
            }
        }
        let resend = self.process_ack(handle, trigger);
        Advance {
            resend,
            grows: !repaired && resend == Resend::Nothing,
            begins: resend != Resend::Nothing,
            ..Advance::default()
        }
    }

    /// Implements section 5, step C, and NextSeg, rules 1 to 4.
    fn next(&mut self, flight: &Flight) -> Next {
        if self.phase == SackPhase::Open {
            return Next::Window;
        }
        if flight.cwnd() < (self.pipe + u64::from(flight.mss)) as i64 as f64 {
            return Next::Nothing;
        }
        let cut = |(start, end): (u64, u64)| (start, (end - start).min(u64::from(flight.mss)) as u32);
        let (lost, otherwise) = match self.phase {
            SackPhase::Recovery(_) => {
                let hole = self.board.hole();
                let otherwise = hole.map(cut).or_else(|| self.rescued(flight));
                (hole.filter(|&(start, _)| start < self.lost.below), otherwise)
            }
            SackPhase::Loss(end) => (self.board.hole_below(end), None),
            SackPhase::Open | SackPhase::Limited => (None, None),
        };
        match lost.map(cut) {
            Some((sequence, length)) => Next::Lost { sequence, length },
            None => Next::Unsent { otherwise },
        }
    }

    fn on_sent(&mut self, _flight: &Flight, length: u32, hole_end: Option<u64>) {
        self.pipe += u64::from(length);
        let Some(end) = hole_end else {
            return;
        };
        if matches!(self.phase, SackPhase::Recovery(_)) && self.board.hole().is_none() {
            // A rescue retransmission does not change HighRxt.
            self.rescue = None;
        } else {
            self.board.on_retransmitted(end);
        }
    }

    /// Discards SACK information; all outstanding data count as lost (section 5.1).
    fn on_timeout(&mut self, handle: &mut WindowHandle) {
        self.board.clear(handle.flight().una);
        self.phase = SackPhase::Loss(handle.flight().max);
        (self.duplicates, self.pipe, self.reports_new_data) = (0, 0, false);
    }
}

impl Rfc6675 {
    /// Processes an ACK after the scoreboard was updated (section 5).
    fn process_ack(&mut self, handle: &mut WindowHandle, trigger: Trigger) -> Resend {
        self.duplicates += u32::from(self.reports_new_data);
        let flight = handle.flight();
        self.lost = match (self.fack, self.phase) {
            (true, SackPhase::Recovery(_)) => self.board.lost_by_fack(),
            _ => self.board.lost(trigger.threshold, flight.mss),
        };
        match self.phase {
            SackPhase::Open | SackPhase::Limited => {
                let (una, max) = (flight.una, flight.max);
                let evident = una < self.lost.below || (self.fack && self.is_far_ahead(flight, trigger.threshold));
                if self.reports_new_data && trigger.is_met_by(self.duplicates, evident) {
                    self.begin(handle);
                    return Resend::First;
                }
                self.phase = if self.reports_new_data {
                    SackPhase::Limited
                } else {
                    SackPhase::Open
                };
                self.board.begin();
                self.pipe = self.board.pipe(max, self.lost);
            }
            SackPhase::Recovery(_) => self.pipe = self.board.pipe(flight.max, self.lost),
            SackPhase::Loss(end) => self.pipe = self.board.pipe_beyond(end, flight.max),
        }
        Resend::Nothing
    }

    /// Returns whether the distance between SND.UNA and the highest data received exceeds the tolerated reordering:
    /// SND.FACK - SND.UNA > 3 segments.
    fn is_far_ahead(&self, flight: &Flight, threshold: u32) -> bool {
        self.board.lost_by_fack().below > flight.una + u64::from(threshold) * u64::from(flight.mss)
    }

    /// Enters recovery (section 5, step 4).
    fn begin(&mut self, handle: &mut WindowHandle) {
        handle.reduce(Cause::FastRetransmit);
        let flight = handle.flight();
        self.phase = SackPhase::Recovery(flight.max);
        let end = flight.max.min(flight.una + u64::from(flight.mss));
        self.board.begin();
        self.board.on_retransmitted(end);
        self.rescue = Some(end);
        if self.fack {
            self.lost = self.board.lost_by_fack();
        }
        self.pipe = self.board.pipe(flight.max, self.lost);
    }

    /// Returns the last missing segment, but at most once per recovery, and only after its first transmission could
    /// have been acknowledged (NextSeg, rule 4).
    fn rescued(&self, flight: &Flight) -> Option<(u64, u32)> {
        self.rescue.filter(|&end| flight.una > end)?;
        let (start, end) = self.board.last_hole(flight.max)?;
        let length = (end - start).min(u64::from(flight.mss));
        Some((end - length, length as u32))
    }
}
