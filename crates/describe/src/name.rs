//! Names and units of fields.

use crate::attributes::OfField;
use crate::interval::{dimension_of, quantity};
use syn::{Error, Result};

/// Name of a field.
pub struct Name {
    /// The name as users write it.
    pub written: String,
    /// Suffix of the name in the core, which is the base unit of a quantity; empty if there is none.
    pub suffix: &'static str,
    /// Base unit and dimension of a quantity; empty for other values.
    pub unit: &'static str,
    pub dimension: &'static str,
}

impl Name {
    pub fn of(field: &syn::Field, attribute: &OfField) -> Result<Name> {
        let ident = field.ident.as_ref().expect("a named field").to_string();
        if let Some(unit) = &attribute.unit {
            let (unit, dimension) =
                dimension_of(unit).ok_or_else(|| Error::new_spanned(field, format!("{unit}: no unit")))?;
            let (written, suffix) = (ident, "");
            return Ok(Name {
                written,
                suffix,
                unit,
                dimension,
            });
        }
        let (written, suffix, dimension) = match &attribute.written {
            Some((name, _)) => (name.as_str(), "", ""),
            None => quantity(&ident),
        };
        let written = written.to_owned();
        Ok(Name {
            written,
            suffix,
            unit: suffix,
            dimension,
        })
    }
}
