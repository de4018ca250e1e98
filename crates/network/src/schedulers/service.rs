//! ATM service categories of the VC that carries a flow's data.

use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// ATM service categories of the VC that carries a flow's data.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ServiceCategory {
    /// Unspecified bit rate, without a guarantee (ATM Forum TM 4.1).
    Ubr {},
    /// Guaranteed frame rate: frames that pass the F-GCRA are eligible for the minimum cell rate (ITU-T I.371).
    Gfr {
        /// Minimum cell rate [cells/s]; ITU-T I.371 MCR.
        #[field(range = "[1, 24000000000]")]
        mcr: u64,
        /// Maximum burst that is eligible at the peak rate [cells]; two frames of 9180 B by default; I.371.
        #[field(range = "[1, 1000000]", default = 386)]
        mbs: u64,
        /// Whether the first switch tags the cells of ineligible frames (CLP = 1); ATM Forum TM 4.1, GFR.2.
        #[field(default = true)]
        tagging: bool,
    },
}

impl ServiceCategory {
    /// Unspecified bit rate.
    pub const UBR: ServiceCategory = ServiceCategory::Ubr {};

    /// Returns whether the VC has no guarantee.
    pub fn is_ubr(&self) -> bool {
        *self == ServiceCategory::UBR
    }

    /// Returns the minimum cell rate [cells/s].
    pub fn mcr(&self) -> u64 {
        match *self {
            ServiceCategory::Ubr {} => 0,
            ServiceCategory::Gfr { mcr, .. } => mcr,
        }
    }

    pub(crate) fn ubr() -> ServiceCategory {
        ServiceCategory::UBR
    }
}
