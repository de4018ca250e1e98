//! Packets in transit, for all media.

pub mod aal5;
pub mod circuit;
pub mod contents;
pub mod drops;
pub mod external;
pub mod flow;
pub mod in_transit;
pub(crate) mod lanes;
pub mod link;
pub mod packet;
pub mod payload;
pub(crate) mod queued_options;

pub use circuit::Circuit;
pub use flow::Flow;
pub use link::Link;
pub(crate) use packet::Carried;
pub use packet::{OnWire, Options, Packet};

/// Empty options, for packets that have none.
pub(crate) static NO_OPTIONS: Options = Options::NONE;
