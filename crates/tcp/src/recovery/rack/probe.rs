//! Tail loss probes: if no ACKs arrive, one more segment is sent to elicit one (RFC 8985 section 7).

use super::*;

impl Rack {
    /// Checks whether an ACK acknowledges a probe that was a retransmission. The ACK of all data sent before the
    /// probe shows that the probe repaired a loss, unless a D-SACK block reports the probe as a duplicate (RFC 8985
    /// section 7.4).
    pub(super) fn update_probe(&mut self, una: u64, summary: &AckSummary, advanced: bool, handle: &mut WindowHandle) {
        let Some(probe) = self.probe else {
            return;
        };
        if !probe.retransmitted {
            if una >= probe.end {
                self.probe = None;
            }
        } else if una > probe.end {
            self.probe = None;
            if self.phase == Phase::Open {
                handle.reduce(Cause::FastRetransmit);
            }
        } else if !advanced && summary.delivered == 0 && una == probe.end {
            self.probe = None;
        }
    }

    /// Sets the probe timer to two RTTs from now, but not after the retransmission timer (RFC 8985 section 7.2).
    pub fn arm_probe(
        &mut self,
        now: Time,
        srtt: Option<Span>,
        rtx_queue: &RetransmissionQueue,
        outstanding: u64,
        mss: u32,
    ) {
        let wanted = self.config.probe
            && self.phase == Phase::Open
            && self.probe.is_none()
            && outstanding > 0
            && !rtx_queue.has_holes();
        self.probe_deadline = MaybeTime::NONE;
        if wanted {
            let wait = match srtt {
                Some(srtt) if outstanding <= u64::from(mss) => Span(2 * srtt.0) + ACK_DELAY_ALLOWANCE,
                Some(srtt) => Span(2 * srtt.0) + PROBE_MARGIN,
                None => PROBE_WITHOUT_RTT,
            };
            self.probe_deadline = MaybeTime::from(now + wait).min(self.rto_deadline);
        }
    }

    /// Processes the expiration of the probe timer: the next segment sent is a probe.
    pub fn on_probe_timeout(&mut self, max: u64) {
        self.probe_deadline = MaybeTime::NONE;
        self.probe_pending = true;
        self.probe = Some(TailLossProbe {
            end: max,
            retransmitted: false,
        });
    }

    /// Returns whether a probe is to be sent now, and clears the request.
    #[inline]
    pub fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_pending)
    }

    /// Returns whether a probe is to be sent.
    #[inline]
    pub fn probes(&self) -> bool {
        self.probe_pending
    }

    /// Records that the probe is a retransmission of the last segment.
    pub fn mark_probe_retransmitted(&mut self) {
        if let Some(probe) = &mut self.probe {
            probe.retransmitted = true;
        }
    }

    /// Returns whether the probe timer expires by `now`.
    pub fn probe_is_due(&self, now: Time) -> bool {
        self.probe_deadline <= now.into()
    }
}
