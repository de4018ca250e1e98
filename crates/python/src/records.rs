//! Records that are passed to hooks of controllers in Python. Numbers are in bytes, seconds and bit/s; unknown values
//! are NaN.
//!
//! The structures have C layout, so that compiled hooks read them through a pointer.

use longpipe_control::monitor::Monitor;
use longpipe_events::{Span, Time};
use longpipe_tcp::congestion::control::{Ack, LostSegment, RecoveryPhase, Sent};
use longpipe_tcp::congestion::flight::Flight;
use pyo3::prelude::*;

/// A record that is passed to a hook.
pub(crate) trait Record: Copy {
    /// Returns the record as a Python object.
    fn object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>>;
}

/// Defines a structure of numbers and booleans, together with their names in Python.
macro_rules! record {
    (
        $(#[$about:meta])*
        $name:ident as $shown:literal {
            $($(#[$number_about:meta])* $number:ident,)*
        } {
            $($(#[$flag_about:meta])* $flag:ident,)*
        }
    ) => {
        $(#[$about])*
        #[pyclass(frozen, get_all, name = $shown, module = "longpipe")]
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub(crate) struct $name {
            $($(#[$number_about])* $number: f64,)*
            $($(#[$flag_about])* $flag: bool,)*
        }

        impl Record for $name {
            #[inline]
            fn object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
                Ok(Bound::new(py, self)?.into_any())
            }
        }

        #[pymethods]
        impl $name {
            /// Names of the numbers and of the booleans, in memory order.
            #[staticmethod]
            fn _fields() -> (Vec<&'static str>, Vec<&'static str>) {
                (vec![$(stringify!($number),)*], vec![$(stringify!($flag),)*])
            }

            fn __repr__(&self) -> String {
                let fields = [
                    $(format!("{}={}", stringify!($number), self.$number),)*
                    $(format!("{}={}", stringify!($flag), if self.$flag { "True" } else { "False" }),)*
                ];
                format!("{}({})", $shown, fields.join(", "))
            }
        }
    };
}

record! {
    /// An ACK, after loss recovery has processed it; unknown values are NaN.
    AckRecord as "Ack" {
        /// Time since the start of the run [s].
        now,
        /// Bytes by which SND.UNA advanced; 0 of a duplicate ACK.
        acked,
        /// Bytes newly known to have arrived, including those that SACK blocks report.
        delivered,
        /// Bytes newly declared lost.
        lost,
        /// Bytes that arrived with an ECN mark, as far as the receiver reports.
        marked,
        /// Bytes in flight before this ACK.
        in_flight_before,
        /// Bytes in flight after this ACK.
        in_flight,
        /// Largest number of bytes in flight in the latest round.
        most_in_flight,
        /// Congestion window now [byte].
        window,
        /// Slow-start threshold now [byte].
        ssthresh,
        /// Payload of a full segment [byte].
        mss,
        /// RTT sample of this ACK [s].
        rtt,
        /// Smoothed RTT [s].
        srtt,
        /// Smallest RTT of the connection [s].
        min_rtt,
        /// Delivery rate sample [bit/s], if the class sets measures_rate.
        delivery_rate,
        /// One-way delay [s], if the class sets measures_delay.
        delay,
        /// Time until the pacer lets the next segment leave [s].
        pacing_delay,
        /// First unacknowledged byte, SND.UNA.
        una,
        /// Next byte to send, SND.NXT.
        nxt,
        /// The receiver's window [byte].
        receiver_window,
    } {
        /// Whether the window may grow: no recovery is in progress.
        grows,
        /// Whether the sender is in fast recovery.
        in_recovery,
        /// Whether the sender repairs losses after a timeout.
        after_timeout,
        /// Whether the window had no room for another segment.
        window_limited,
        /// Whether the application limited the delivery rate sample.
        app_limited,
        /// Whether a segment that was sent once arrived after a segment sent later; only with the recovery RACK.
        reordered,
    }
}

record! {
    /// A monitor interval, up to the ACK that ends it; unknown values are NaN.
    IntervalRecord as "Interval" {
        /// Time since the start of the run [s].
        now,
        /// Length of the interval [s].
        duration,
        /// Number of ACKs.
        acks,
        /// Bytes by which SND.UNA advanced.
        acked,
        /// Bytes newly known to have arrived.
        delivered,
        /// Bytes declared lost.
        lost,
        /// Bytes that arrived with an ECN mark.
        marked,
        /// Bytes sent, including retransmissions.
        sent,
        /// Bytes sent over the length [bit/s].
        send_rate,
        /// Bytes delivered over the length [bit/s].
        delivery_rate,
        /// Lost bytes as a share of lost and delivered bytes.
        loss_rate,
        /// Mean of the RTT samples of SRTT, which include the receiver's delay of the ACK [s].
        rtt,
        /// Smallest RTT sample of the interval [s].
        lowest_rtt,
        /// Mean RTT of the later half of the samples minus that of the earlier half [s].
        rtt_increase,
        /// Smoothed RTT [s].
        srtt,
        /// Smallest RTT of the connection [s].
        min_rtt,
        /// Bytes in flight.
        in_flight,
        /// Congestion window now [byte].
        window,
        /// Slow-start threshold now [byte].
        ssthresh,
        /// Payload of a full segment [byte].
        mss,
    } {
        /// Whether the sender is in fast recovery.
        in_recovery,
        /// Whether the sender repairs losses after a timeout.
        after_timeout,
        /// Whether the window had no room for another segment.
        window_limited,
    }
}

record! {
    /// The start of a connection, a reduction, or the end of a recovery.
    EventRecord as "Event" {
        /// Time since the start of the run [s].
        now,
        /// Congestion window now [byte].
        window,
        /// Slow-start threshold now [byte].
        ssthresh,
        /// Bytes sent and not acknowledged: SND.MAX - SND.UNA.
        in_flight,
        /// Payload of a full segment [byte].
        mss,
        /// RTT of the handshake [s]; NaN except in on_start.
        rtt,
        /// First unacknowledged byte, SND.UNA.
        una,
        /// Next byte to send, SND.NXT.
        nxt,
        /// The receiver's window [byte].
        receiver_window,
    } {}
}

record! {
    /// A transmission.
    SentRecord as "Sent" {
        /// Time since the start of the run [s].
        now,
        /// First byte.
        sequence,
        /// First byte after the segment.
        end,
        /// Bytes in flight, including the segment.
        in_flight,
        /// Congestion window now [byte].
        window,
        /// Slow-start threshold now [byte].
        ssthresh,
        /// Payload of a full segment [byte].
        mss,
    } {
        /// Whether any byte of it was sent before.
        retransmission,
        /// Whether the application limits the data in flight.
        app_limited,
    }
}

record! {
    /// A transmission that is declared lost.
    LostRecord as "Lost" {
        /// Time since the start of the run [s].
        now,
        /// First byte.
        sequence,
        /// First byte after the segment.
        end,
        /// Bytes in flight when it left, including it.
        in_flight_when_sent,
        /// Bytes declared lost since it left, including it.
        lost_since_sent,
        /// Bytes delivered before it left.
        delivered_before,
        /// Bytes delivered up to now.
        delivered,
        /// Congestion window now [byte].
        window,
        /// Payload of a full segment [byte].
        mss,
    } {
        /// Whether the application limited the data in flight when it left.
        app_limited,
    }
}

pub(crate) fn seconds(time: Option<Span>) -> f64 {
    time.map_or(f64::NAN, Span::as_seconds)
}

/// Returns the rate [bit/s] at which `bytes` are transferred in a given time.
pub(crate) fn rate(bytes: u64, time: Span) -> f64 {
    if time.0 == 0 {
        return f64::NAN;
    }
    8.0 * bytes as f64 / time.as_seconds()
}

impl AckRecord {
    pub(crate) fn new(ack: &Ack, flight: &Flight) -> AckRecord {
        AckRecord {
            now: ack.now.as_seconds(),
            acked: ack.acked as f64,
            delivered: ack.delivered as f64,
            lost: ack.lost as f64,
            marked: ack.marked as f64,
            in_flight_before: ack.in_flight_before as f64,
            in_flight: ack.in_flight as f64,
            most_in_flight: ack.usage.most as f64,
            window: flight.cwnd(),
            ssthresh: flight.ssthresh(),
            mss: flight.mss(),
            rtt: seconds(ack.rtt),
            srtt: seconds(ack.srtt),
            min_rtt: seconds(ack.least_rtt),
            delivery_rate: ack
                .rate
                .map_or(f64::NAN, |sample| rate(sample.delivered, sample.interval)),
            delay: seconds(ack.delay),
            pacing_delay: ack.held.as_seconds(),
            una: flight.una as f64,
            nxt: flight.nxt as f64,
            receiver_window: flight.rwnd as f64,
            grows: ack.grows,
            in_recovery: ack.phase == RecoveryPhase::Recovery,
            after_timeout: ack.phase == RecoveryPhase::Loss,
            window_limited: ack.window_limited,
            app_limited: ack.rate.is_some_and(|sample| sample.app_limited),
            reordered: ack.reordered,
        }
    }
}

impl IntervalRecord {
    pub(crate) fn new(monitor: &Monitor, ack: &Ack, flight: &Flight) -> IntervalRecord {
        let duration = ack.now - monitor.began;
        IntervalRecord {
            now: ack.now.as_seconds(),
            duration: duration.as_seconds(),
            acks: monitor.acks as f64,
            acked: monitor.acked as f64,
            delivered: monitor.delivered as f64,
            lost: monitor.lost as f64,
            marked: monitor.marked as f64,
            sent: monitor.sent as f64,
            send_rate: rate(monitor.sent, duration),
            delivery_rate: rate(monitor.delivered, duration),
            loss_rate: monitor.loss_rate(),
            rtt: monitor.mean_rtt(),
            lowest_rtt: monitor.min_rtt(),
            rtt_increase: monitor.rtt_increase(),
            srtt: seconds(ack.srtt),
            min_rtt: seconds(ack.least_rtt),
            in_flight: ack.in_flight as f64,
            window: flight.cwnd(),
            ssthresh: flight.ssthresh(),
            mss: flight.mss(),
            in_recovery: ack.phase == RecoveryPhase::Recovery,
            after_timeout: ack.phase == RecoveryPhase::Loss,
            window_limited: ack.window_limited,
        }
    }
}

impl EventRecord {
    pub(crate) fn new(now: Time, rtt: Option<Span>, flight: &Flight) -> EventRecord {
        EventRecord {
            now: now.as_seconds(),
            window: flight.cwnd(),
            ssthresh: flight.ssthresh(),
            in_flight: flight.outstanding() as f64,
            mss: flight.mss(),
            rtt: seconds(rtt),
            una: flight.una as f64,
            nxt: flight.nxt as f64,
            receiver_window: flight.rwnd as f64,
        }
    }
}

impl SentRecord {
    pub(crate) fn new(sent: &Sent, flight: &Flight) -> SentRecord {
        SentRecord {
            now: sent.now.as_seconds(),
            sequence: sent.sequence as f64,
            end: sent.end as f64,
            in_flight: sent.in_flight as f64,
            window: flight.cwnd(),
            ssthresh: flight.ssthresh(),
            mss: flight.mss(),
            retransmission: sent.retransmission,
            app_limited: sent.app_limited,
        }
    }
}

impl LostRecord {
    pub(crate) fn new(lost: &LostSegment, now: Time, flight: &Flight) -> LostRecord {
        LostRecord {
            now: now.as_seconds(),
            sequence: lost.sequence as f64,
            end: lost.end as f64,
            in_flight_when_sent: lost.tx_in_flight as f64,
            lost_since_sent: lost.lost as f64,
            delivered_before: lost.prior_delivered as f64,
            delivered: lost.delivered as f64,
            window: flight.cwnd(),
            mss: flight.mss(),
            app_limited: lost.app_limited,
        }
    }
}

/// A congestion window, a slow-start threshold and a pacing rate; None leaves a value unchanged.
#[pyclass(get_all, set_all, module = "longpipe")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grant {
    /// Congestion window [byte].
    pub window: Option<f64>,
    /// Slow-start threshold [byte].
    pub ssthresh: Option<f64>,
    /// Pacing rate [bit/s].
    pub rate: Option<f64>,
    /// Minimum burst that leaves at one instant [segment]; 2 if None.
    pub burst: Option<u32>,
}

impl Grant {
    /// Returns this grant after replacing missing values with those of another grant.
    pub(crate) fn or(self, other: Grant) -> Grant {
        Grant {
            window: self.window.or(other.window),
            ssthresh: self.ssthresh.or(other.ssthresh),
            rate: self.rate.or(other.rate),
            burst: self.burst.or(other.burst),
        }
    }
}

#[pymethods]
impl Grant {
    #[new]
    #[pyo3(signature = (window=None, ssthresh=None, rate=None, burst=None))]
    fn new(window: Option<f64>, ssthresh: Option<f64>, rate: Option<f64>, burst: Option<u32>) -> Grant {
        Grant {
            window,
            ssthresh,
            rate,
            burst,
        }
    }

    fn __repr__(&self) -> String {
        let shown = |value: Option<f64>| value.map_or("None".to_owned(), |value| value.to_string());
        let burst = self.burst.map_or("None".to_owned(), |burst| burst.to_string());
        let (window, ssthresh, rate) = (shown(self.window), shown(self.ssthresh), shown(self.rate));
        format!("Grant(window={window}, ssthresh={ssthresh}, rate={rate}, burst={burst})")
    }
}
