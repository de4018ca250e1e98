//! Controllers that an RFC or a paper specifies.

pub mod aimd;
pub mod careful_resume;
pub mod cubic;
pub mod highspeed;
pub mod ledbat;
pub mod ledbat_plus_plus;
pub mod rapid_start;
pub mod rate_limited;
