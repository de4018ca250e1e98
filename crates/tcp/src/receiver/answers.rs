//! Contents of ACKs.

use super::Receiver;
use crate::config::EcnConfig;
use crate::segment::{AckSegment, ByteCounts, Ecn, SackBlock, MAX_SACK_BLOCKS};
use longpipe_events::{MaybeTime, Time};

impl Receiver {
    /// Returns the ACK that must be sent now, if any.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time) -> Option<AckSegment> {
        if self.acks_carry_more {
            return self.poll_in_full(now);
        }
        self.poll_sparse()
    }

    /// Returns the ACK that must be sent now if it reports only received data, without ECN or clock information.
    #[inline(always)]
    pub fn poll_sparse(&mut self) -> Option<AckSegment> {
        self.pending.then(|| self.acknowledge())
    }

    /// Returns the ACK that must be sent now, which may be of any kind.
    #[inline(never)]
    fn poll_in_full(&mut self, now: Time) -> Option<AckSegment> {
        if !self.pending {
            return None;
        }
        if self.before_mark.is_some() {
            return self.poll_before_mark(now);
        }
        let before_segment = self.poll_before_segment();
        Some(before_segment.unwrap_or_else(|| self.acknowledge_in_full(now)))
    }

    /// Creates an ACK of all received data with everything that ACKs may report.
    #[inline(always)]
    fn acknowledge_in_full(&mut self, now: Time) -> AckSegment {
        AckSegment {
            ace: self.ace(),
            clock: self.clock(now),
            counts: self.counts(),
            window: self.advertised_window(now),
            opening: std::mem::take(&mut self.opening),
            ..self.acknowledge()
        }
    }

    /// Creates an ACK of all received data.
    #[inline(always)]
    fn acknowledge(&mut self) -> AckSegment {
        let blocks = if self.sack_blocks == 0 || (self.out_of_order.is_empty() && self.duplicate.is_none()) {
            [SackBlock::NONE; MAX_SACK_BLOCKS]
        } else {
            self.blocks()
        };
        AckSegment {
            blocks,
            ..self.answer_in_order()
        }
    }

    /// Creates an ACK of all received data if no data lie beyond a hole.
    #[inline(always)]
    pub fn answer_in_order(&mut self) -> AckSegment {
        self.pending = false;
        self.unacknowledged = 0;
        self.acknowledged = self.next;
        self.deadline = MaybeTime::NONE;
        AckSegment {
            acknowledgement: self.next,
            echo: self.echo,
            ..AckSegment::default()
        }
    }

    /// Records the ECN field of a segment; later ACKs report it.
    pub(super) fn take_mark(&mut self, ecn: Ecn, bytes: u32) {
        match self.ecn {
            EcnConfig::Off {} => {}
            EcnConfig::Classic { .. } => self.echoes_mark = ecn.marked || (self.echoes_mark && !ecn.reduced),
            EcnConfig::Dctcp {} => {
                if ecn.marked != self.echoes_mark && self.unacknowledged > 0 {
                    self.before_mark = Some((self.next, false));
                    (self.unacknowledged, self.deadline) = (0, MaybeTime::NONE);
                }
                self.echoes_mark = ecn.marked;
            }
            EcnConfig::Accurate { .. } => self.counter.take(ecn, bytes),
        }
    }

    /// Returns an ACK of the data received before the marking changed; this ACK reports the old marking.
    #[cold]
    fn poll_before_mark(&mut self, now: Time) -> Option<AckSegment> {
        let (acknowledgement, due) = self.before_mark.take()?;
        self.pending = due;
        Some(AckSegment {
            acknowledgement,
            echo: self.echo,
            ace: u8::from(!self.echoes_mark),
            clock: self.clock(now),
            ..AckSegment::default()
        })
    }

    /// Makes the next ACK report only the data received so far.
    #[cold]
    pub(super) fn ack_before_segment(&mut self, now: Time) {
        let ack = Box::new(self.acknowledge_in_full(now));
        if let Some(compression) = &mut self.compression {
            compression.before_segment = Some(ack);
            self.acks_carry_more = true;
        }
    }

    /// Returns the ACK of the data received before the latest segment, if this segment triggered one.
    #[inline(always)]
    fn poll_before_segment(&mut self) -> Option<AckSegment> {
        let ack = self.compression.as_mut()?.before_segment.take()?;
        self.pending = false;
        Some(*ack)
    }

    /// Returns the receiver's clock for an ACK, if ACKs carry it.
    #[inline(always)]
    fn clock(&self, now: Time) -> MaybeTime {
        if self.sends_clock {
            now.into()
        } else {
            MaybeTime::NONE
        }
    }

    /// If the window varies, returns the window for an ACK of all received data; a SYN-ACK advertises the initial
    /// window.
    fn advertised_window(&mut self, now: Time) -> u32 {
        if self.opening.is_syn() {
            return 0;
        }
        let (next, beyond) = (self.next, self.beyond());
        let flow_control = match &mut self.window {
            Some(window) => window.advertise(now, next, beyond),
            None => 0,
        };
        match &mut self.rledbat {
            Some(rledbat) if flow_control > 0 => rledbat.advertise(now, next, u64::from(flow_control)),
            Some(rledbat) => rledbat.advertise(now, next, self.constant_window),
            None => flow_control,
        }
    }

    /// Returns the flags AE, CWR and ECE of an ACK.
    #[inline(always)]
    fn ace(&mut self) -> u8 {
        match self.ecn {
            EcnConfig::Accurate { .. } => self.counter.next_ace(),
            _ => u8::from(self.echoes_mark),
        }
    }

    /// Returns the byte counters of an ACK, if it carries them; a SYN-ACK carries none.
    #[inline(always)]
    fn counts(&self) -> ByteCounts {
        match self.ecn {
            EcnConfig::Accurate { option: true, .. } if !self.opening.is_syn() => self.counter.counts(),
            _ => ByteCounts::NONE,
        }
    }
}
