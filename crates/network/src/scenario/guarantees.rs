//! Guarantees of the parts of a scenario, used by `lookahead` only. A part without guarantees is simulated event by
//! event.

use super::conditioners::JitterConfig;
use super::time_varying::{DelayConfig, OrderConfig, ServiceConfig};
use super::{FlowConfig, LinkConfig, LossConfig, NodeConfig, PolicyConfig, Scenario};
use longpipe_tcp::config::AckConfig;
use longpipe_tcp::segment::header_bytes;

/// Guarantees of a link and its port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkGuarantees {
    /// The time at which a packet's transmission ends is known when it starts, and packets leave in order.
    pub departs_as_begun: bool,
    /// The departure time of a packet is known when it is admitted.
    pub departs_as_admitted: bool,
    /// Packets arrive in the order in which they departed.
    pub keeps_order: bool,
    /// Every packet that has left the port arrives.
    pub loses_none_on_wire: bool,
    /// Minimum propagation delay [ps].
    pub min_delay: u64,
    /// Minimum ratio of the time between two arrivals to the time between their departures, in units of 2⁻³².
    pub min_spacing_ratio: u64,
    /// Maximum rate [bit/s].
    pub max_rate_bps: u64,
}

/// Guarantees of a host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostGuarantees {
    /// The host passes its end points' packets to its interface without delay.
    pub sends_at_once: bool,
}

/// Guarantees of an end point and its application.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndGuarantees {
    /// After its application has started, the end point acts only when a packet arrives or one of its timers expires.
    pub silent_between_timers: bool,
    /// Each data packet is acknowledged at once.
    pub answers_at_once: bool,
    /// Whether its sender keeps a retransmission queue with per-segment records.
    pub keeps_records: bool,
    /// Whether its ACKs may be delayed.
    pub delays_acks: bool,
    /// Each of its ACKs is sent when data or a SYN arrives, or when its timer expires; and no port lets data pass a SYN of
    /// their connection.
    pub answers_or_waits: bool,
    /// Minimum length [byte] of its data packets, including headers; 0 if the end point sends none, or if there is no
    /// bound.
    pub min_packet_bytes: u64,
    /// Minimum length [byte] of its packets that carry data, including headers; 0 if there is no bound.
    pub min_data_bytes: u64,
}

impl LinkConfig {
    /// Returns the maximum propagation delay [ps].
    pub(crate) fn max_delay_ps(&self) -> u64 {
        let delay = self.motion.as_ref().and_then(|motion| motion.delay.as_ref());
        delay.map_or(self.delay_ps, DelayConfig::max_ps) + self.jitter().map_or(0, JitterConfig::max_ps)
    }

    /// Returns whether packets keep their order on the wire.
    pub(crate) fn order(&self) -> OrderConfig {
        let of_motion = self.motion.as_ref().map(|motion| motion.order);
        let free = [of_motion, self.jitter().map(|jitter| jitter.order)].contains(&Some(OrderConfig::Free));
        if free {
            OrderConfig::Free
        } else {
            OrderConfig::Fifo
        }
    }

    /// Returns whether packets may be reordered.
    pub(crate) fn may_reorder(&self) -> bool {
        self.order() == OrderConfig::Free
    }

    /// Returns the guarantees of a static or time-varying link. `lookahead` withdraws those guarantees that
    /// conditioners, a shaping discipline or a queue at a host invalidate.
    pub(crate) fn guarantees(&self) -> LinkGuarantees {
        let spoils = matches!(self.loss, LossConfig::BitErrors { .. });
        if self.access.is_some() {
            return LinkGuarantees {
                keeps_order: true,
                loses_none_on_wire: !spoils,
                min_delay: self.delay_ps,
                // Several packets may leave at the same time.
                max_rate_bps: u64::MAX,
                ..LinkGuarantees::default()
            };
        }
        let Some(motion) = &self.motion else {
            return LinkGuarantees {
                departs_as_begun: true,
                departs_as_admitted: !self.policy.serves(),
                keeps_order: !self.may_reorder(),
                loses_none_on_wire: !spoils,
                min_delay: self.delay_ps,
                min_spacing_ratio: if self.varies() { 0 } else { 1 << 32 },
                max_rate_bps: self.rate_bps,
            };
        };
        LinkGuarantees {
            // Rates and outages do not depend on packets. Whether an outage loses a packet is known when the packet's
            // transmission starts.
            departs_as_begun: true,
            departs_as_admitted: self.policy.depends_on_occupancy_only(),
            keeps_order: !self.may_reorder(),
            loses_none_on_wire: !spoils,
            min_delay: motion.delay.as_ref().map_or(self.delay_ps, DelayConfig::min_ps),
            min_spacing_ratio: match self.jitter() {
                None if !self.aggregates() => motion.delay.as_ref().map_or(1 << 32, DelayConfig::min_spacing_ratio),
                _ => 0,
            },
            max_rate_bps: match &motion.service {
                None => self.rate_bps,
                Some(ServiceConfig::Steps { steps, .. }) => steps.iter().map(|step| step[1]).max().unwrap_or(u64::MAX),
                // Several packets may leave at the same time.
                Some(ServiceConfig::Opportunities { .. }) => u64::MAX,
            },
        }
    }
}

impl Scenario {
    /// Returns whether the interface of the host at the start of a link is anything other than an unlimited FIFO.
    pub(crate) fn has_queue_at_host(&self, link: &LinkConfig) -> bool {
        let plain = link.policy == PolicyConfig::TAIL_DROP && link.buffer.is_none() && link.conditioners.is_empty();
        let plain = plain && link.access.is_none();
        self.is_host(link.from) && !plain
    }
}

impl NodeConfig {
    /// Returns the guarantees of a host; without jitter, a host sends at once.
    pub(crate) fn guarantees(&self) -> HostGuarantees {
        HostGuarantees {
            sends_at_once: self.send_jitter_ps == 0,
        }
    }
}

impl FlowConfig {
    /// Returns the guarantees of the sending and of the receiving end point.
    pub(crate) fn guarantees(&self) -> [EndGuarantees; 2] {
        if self.foreign || self.onward.is_some() {
            return Default::default();
        }
        // Applications whose data become available over time act at times of their own, and players also act when a chunk
        // has arrived.
        let silent_between_timers = self.traffic.facts().at_once && self.stop.is_none();
        let sending = EndGuarantees {
            silent_between_timers,
            answers_at_once: false,
            keeps_records: self.tcp.recovery.facts().detects_each_loss,
            delays_acks: false,
            answers_or_waits: false,
            min_packet_bytes: self.min_packet_bytes(),
            min_data_bytes: self.min_data_bytes(),
        };
        let receiving = EndGuarantees {
            silent_between_timers,
            // The last packet of a handshake is not acknowledged.
            answers_at_once: matches!(self.tcp.ack, AckConfig::Immediate {}) && !self.tcp.handshake,
            keeps_records: false,
            delays_acks: !matches!(self.tcp.ack, AckConfig::Immediate {}),
            // Ports that prefer packets with ECT pass data before a SYN, which never carries ECT.
            answers_or_waits: silent_between_timers && (self.tcp.ecn.is_off() || !self.tcp.handshake),
            min_packet_bytes: 0,
            min_data_bytes: 0,
        };
        // A forwarding flow depends on the proxy's other connection, which is not known here.
        let sending = if self.relayed {
            EndGuarantees::default()
        } else {
            sending
        };
        [sending, receiving]
    }

    fn min_packet_bytes(&self) -> u64 {
        match self.tcp.handshake {
            true => u64::from(header_bytes(None)),
            false => self.min_data_bytes(),
        }
    }

    fn min_data_bytes(&self) -> u64 {
        let mss = u64::from(self.tcp.mss_bytes);
        // A window that varies can become smaller than two segments.
        let two_segments = !self.tcp.window_varies() && mss <= self.tcp.advertised_window() / 2;
        let short_at_end_only = self.tcp.silly_window_avoidance && two_segments;
        let payload = match short_at_end_only {
            true => self.traffic.min_segment(mss),
            false => 1,
        };
        payload + u64::from(header_bytes(None))
    }
}
