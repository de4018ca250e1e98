//! Service classes.

/// A service class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Cells of TCP flows and of datagram flows.
    Ubr,
    /// Cells of VBR sources.
    Vbr,
}

impl Class {
    /// Returns the name of the class in results.
    pub fn name(self) -> &'static str {
        match self {
            Class::Ubr => "ubr",
            Class::Vbr => "vbr",
        }
    }
}
