//! What is certain about a scenario before it runs: tables computed from the resolved scenario alone. The shortcuts in `ip`,
//! `atm` and `hosts` rely on them; a part about which nothing is certain is simulated event by event.

pub(crate) mod acks;
pub(crate) mod early;
pub(crate) mod promises;
pub(crate) mod queueless;
