//! Service classes.

/// A service class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// TCP's cells.
    Ubr,
    /// Cells of on/off sources.
    Vbr,
}

impl Class {
    /// As results name it.
    pub fn name(self) -> &'static str {
        match self {
            Class::Ubr => "ubr",
            Class::Vbr => "vbr",
        }
    }
}
