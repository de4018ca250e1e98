//! AVQ compared with a trace that was computed by hand from figure 1 of Kunniyur and Srikant, "Analysis and design of an
//! adaptive virtual queue (AVQ) algorithm for active queue management", SIGCOMM 2001:
//!
//! ```text
//! at each arrival of b bytes at time t:
//!     VQ = max(VQ - C~ (t - s), 0)
//!     if VQ + b > B: mark or drop the packet; else VQ = VQ + b
//!     C~ = max(min(C~ + alpha gamma C (t - s), C) - alpha b, 0)
//!     s = t
//! ```

use super::MS;
use longpipe_events::Time;
use longpipe_network::policies::aqm::AtEnqueue;
use longpipe_network::policies::avq::{Avq, AvqConfig};
use longpipe_network::policies::{Arrival, Verdict};
use Verdict::{Admit, Mark};

/// Time [s] of each arrival of 1000 bytes, the decision, VQ [byte] and C~ [byte/s] after it. C is 1000 byte/s, B is 2250
/// bytes, alpha is 0.25 and gamma is 0.5, so that C~ grows by 125 byte/s per second and falls by 250 byte/s per packet.
const TRACE: [(u64, Verdict, f64, f64); 9] = [
    (0, Admit, 1000.0, 750.0),
    (1, Admit, 1250.0, 625.0),
    // The virtual queue is exactly full.
    (1, Admit, 2250.0, 375.0),
    (1, Mark, 2250.0, 125.0),
    (1, Mark, 2250.0, 0.0),
    (3, Mark, 2250.0, 0.0),
    (9, Mark, 2250.0, 500.0),
    (11, Admit, 2250.0, 500.0),
    (21, Admit, 1000.0, 750.0),
];

#[test]
fn avq_follows_the_virtual_queue_of_the_paper() {
    let config = AvqConfig {
        utilization: 0.5,
        gain: 0.25,
        virtual_buffer_bytes: 2250,
        ecn: false,
    };
    let mut avq = Avq::new(&config, 8000);
    for (s, verdict, queue, capacity) in TRACE {
        let arrival = Arrival {
            now: Time(1000 * s * MS),
            bytes: 1000,
            ..Arrival::default()
        };
        assert_eq!(avq.decide(&arrival, || 0.0), verdict, "at {s} s");
        assert_eq!(avq.state(), (queue, capacity), "at {s} s");
    }
}
