//! Conservative lookahead: guarantees about arrival times and the order of arrivals, computed from the resolved
//! scenario before the run. The shortcuts in `ip`, `atm` and `hosts` rely on these guarantees; parts without guarantees
//! are simulated event by event.

pub(crate) mod acks;
pub(crate) mod delayed_acks;
pub(crate) mod early;
pub(crate) mod guarantees;
pub(crate) mod queueless;
