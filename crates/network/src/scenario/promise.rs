//! What the parts of a scenario make certain, each beside the others of its kind. `lookahead` alone reads it; a part that
//! says nothing promises nothing, and what depends on it is simulated event by event.

use super::motion::{DelayConfig, OrderConfig};
use super::{FlowConfig, LinkConfig, LossConfig, NodeConfig, TrafficConfig};
use longpipe_tcp::config::{AckConfig, RecoveryKind};
use longpipe_tcp::segment::header_bytes;

/// What a link and the port that feeds it make certain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkPromise {
    /// When a packet has left is certain once it begins to, and before any that leaves later.
    pub departs_as_begun: bool,
    /// When a packet leaves is certain once it is admitted.
    pub departs_as_admitted: bool,
    /// Packets arrive in the order in which they left.
    pub keeps_order: bool,
    /// What has left arrives.
    pub loses_none_on_wire: bool,
    /// No packet arrives sooner after it has left [ps].
    pub least_delay: u64,
    /// What the time between two departures comes to at least between their arrivals, in parts of 2³².
    pub least_spread: u64,
}

/// What a host makes certain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostPromise {
    /// What its end points send is at its interface at once.
    pub sends_at_once: bool,
}

/// What an end point and its application make certain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndPromise {
    /// It does nothing but what packets and its timers bring about, once its application has begun.
    pub silent_between_timers: bool,
    /// Each packet of data is answered by an ACK that leaves when it comes.
    pub answers_at_once: bool,
    /// Its sender keeps a record of each transmission, by which ACKs in order are taken.
    pub keeps_records: bool,
    /// Its ACKs may wait for more data.
    pub delays_acks: bool,
    /// Least length of the packets of data that it sends, headers included [byte]; 0 if it sends none or that is not known.
    pub least_packet_bytes: u64,
}

impl LinkConfig {
    /// The most that propagation ever takes [ps].
    pub(crate) fn most_delay_ps(&self) -> u64 {
        let delay = self.motion.as_ref().and_then(|motion| motion.delay.as_ref());
        delay.map_or(self.delay_ps, DelayConfig::most_ps)
    }

    /// Whether packets may arrive in another order than they left.
    pub(crate) fn may_reorder(&self) -> bool {
        self.motion
            .as_ref()
            .is_some_and(|motion| motion.order == OrderConfig::Free)
    }

    /// A wire of one delay, maybe with bit errors, and a FIFO, unless the queue is served; of a link that moves, what holds at any
    /// time.
    pub(crate) fn promise(&self) -> LinkPromise {
        if let Some(motion) = &self.motion {
            // When a packet has left a line whose rate moves, or stops, is certain too, but not how soon after another.
            let stands = motion.service.is_none() && motion.outages.is_none();
            return LinkPromise {
                departs_as_begun: stands,
                departs_as_admitted: stands,
                keeps_order: motion.order == OrderConfig::Fifo,
                loses_none_on_wire: stands,
                least_delay: motion.delay.as_ref().map_or(self.delay_ps, DelayConfig::least_ps),
                least_spread: motion.delay.as_ref().map_or(0, DelayConfig::least_spread),
            };
        }
        LinkPromise {
            departs_as_begun: true,
            departs_as_admitted: !self.policy.serves(),
            keeps_order: true,
            loses_none_on_wire: !matches!(self.loss, LossConfig::BitErrors { .. }),
            least_delay: self.delay_ps,
            least_spread: 1 << 32,
        }
    }
}

impl NodeConfig {
    /// A host without jitter.
    pub(crate) fn promise(&self) -> HostPromise {
        HostPromise {
            sends_at_once: self.send_jitter_ps == 0,
        }
    }
}

impl FlowConfig {
    /// What the sending and the receiving end point make certain.
    pub(crate) fn promises(&self) -> [EndPromise; 2] {
        if self.foreign || self.onward.is_some() {
            return Default::default();
        }
        let silent_between_timers = match self.traffic {
            TrafficConfig::Greedy {} | TrafficConfig::Transfer { .. } => true,
            // Who sends datagrams does so by a clock of its own.
            TrafficConfig::Web(_)
            | TrafficConfig::Cbr(_)
            | TrafficConfig::OnOff(_)
            | TrafficConfig::Poisson(_)
            | TrafficConfig::Video(_)
            | TrafficConfig::Arrivals(_) => false,
        };
        let sending = EndPromise {
            silent_between_timers,
            answers_at_once: false,
            keeps_records: self.tcp.recovery.kind() == RecoveryKind::Rack,
            delays_acks: false,
            least_packet_bytes: self.least_packet_bytes(),
        };
        let receiving = EndPromise {
            silent_between_timers,
            // The last packet of a handshake has no answer.
            answers_at_once: matches!(self.tcp.ack, AckConfig::Immediate {}) && !self.tcp.handshake,
            keeps_records: false,
            delays_acks: !matches!(self.tcp.ack, AckConfig::Immediate {}),
            least_packet_bytes: 0,
        };
        // What feeds a sender, or waits for what it frees, is not known here.
        let sending = if self.relayed { EndPromise::default() } else { sending };
        [sending, receiving]
    }

    fn least_packet_bytes(&self) -> u64 {
        let mss = u64::from(self.tcp.mss_bytes);
        let short_at_end_only = self.tcp.silly_window_avoidance && mss <= self.tcp.advertised_window() / 2;
        let payload = match self.traffic {
            _ if self.tcp.handshake => 0,
            _ if !short_at_end_only => 1,
            TrafficConfig::Transfer { size_bytes } if size_bytes % mss > 0 => size_bytes % mss,
            TrafficConfig::Transfer { .. } | TrafficConfig::Greedy {} => mss,
            TrafficConfig::Web(_)
            | TrafficConfig::Cbr(_)
            | TrafficConfig::OnOff(_)
            | TrafficConfig::Poisson(_)
            | TrafficConfig::Video(_)
            | TrafficConfig::Arrivals(_) => 1,
        };
        payload + u64::from(header_bytes(None))
    }
}
