//! Probes of the tail: where ACKs stay away, one more segment asks for them (RFC 8985 section 7).

use super::*;

impl Rack {
    /// An ACK of all that was sent before a probe, itself a copy, tells that the probe mended a loss, unless another one
    /// tells that it came twice (RFC 8985 section 7.4).
    pub(super) fn look_at_probe(&mut self, una: u64, news: &News, advanced: bool, reins: &mut Reins) {
        let Some(probe) = self.probe else {
            return;
        };
        if !probe.again {
            if una >= probe.end {
                self.probe = None;
            }
        } else if una > probe.end {
            self.probe = None;
            if self.phase == Phase::Open {
                reins.reduce(Cause::FastRetransmit);
            }
        } else if !advanced && news.delivered == 0 && una == probe.end {
            self.probe = None;
        }
    }

    /// Sets the timer of the probe: two round trips from now, before the retransmission timer (RFC 8985 section 7.2).
    pub fn arm_probe(&mut self, now: Time, srtt: Option<Span>, ledger: &Ledger, outstanding: u64, mss: u32) {
        let wanted = self.config.probe
            && self.phase == Phase::Open
            && self.probe.is_none()
            && outstanding > 0
            && !ledger.has_holes();
        self.probe_at = MaybeTime::NONE;
        if wanted {
            let wait = match srtt {
                Some(srtt) if outstanding <= u64::from(mss) => Span(2 * srtt.0) + LONGEST_DELAY,
                Some(srtt) => Span(2 * srtt.0) + PROBE_MARGIN,
                None => PROBE_WITHOUT_RTT,
            };
            self.probe_at = MaybeTime::from(now + wait).min(self.rto);
        }
    }

    /// ACKs stay away: the next segment to leave is a probe.
    pub fn on_probe_timeout(&mut self, max: u64) {
        self.probe_at = MaybeTime::NONE;
        self.probes = true;
        self.probe = Some(Probe { end: max, again: false });
    }

    /// Whether a probe leaves now.
    #[inline]
    pub fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probes)
    }

    /// Whether one has to.
    #[inline]
    pub fn probes(&self) -> bool {
        self.probes
    }

    /// The probe is the last segment once more.
    pub fn probe_is_copy(&mut self) {
        if let Some(probe) = &mut self.probe {
            probe.again = true;
        }
    }

    /// Whether that of the probe does.
    pub fn probe_is_due(&self, now: Time) -> bool {
        self.probe_at <= now.into()
    }
}
