//! `#[derive(Described)]` for parameters of a scenario: their description for users, and the check of their bounds.
//! `#[derive(FromJson)]` reads them from JSON (see `from_json.rs`).
//!
//! The documentation of a struct and of its fields is the text that users read; that of a field has the unit in
//! brackets and ends with the source. A field whose name ends with a unit (`_ps`, `_bps`, `_bytes`) is a quantity,
//! which users write as text with a unit; one that ends with `_ppb` is a share, which users write as a fraction. The
//! attribute `field` has:
//!
//! - `range`: the interval of accepted values, such as `"[1 us, 1000 s]"` or `"(0, 1]"`;
//! - `default`: the value of an absent field, as users write it; an `Option` is absent by default, and other fields
//!   without a default are required;
//! - `len`: the interval of accepted lengths of a list or a text, and `pattern`, a regular expression of a text;
//! - `ascending`, if the core gets the items of a list sorted, without duplicates; `increasing`, if users need to write
//!   them in this way; `sums_to_one`, if they need to add up to 1;
//! - `each`: the intervals of the items of a tuple;
//! - `values`: the accepted names, if they are not all of the field's type;
//! - `later`, if the core gets the field only if its value is not the default;
//! - `written`: the name and the interval of lengths of a text from which Python computes the value;
//! - `of`: the type of a part, of which the field is a copy; that part checks its value;
//! - `unit`: the unit of a quantity of which the name does not end with the unit;
//! - `word`: a word that users may write in place of the number: "unlimited" for the absent value of an `Option`, and
//!   other words for values that are computed;
//! - `profile(name, value)`: the default in a profile of connections;
//! - `skip`, if users do not write the field.
//!
//! The attribute `described` of a struct has `label`, its name in menus; `rule(field, condition, message)`, problems of
//! several fields in the language of `python/longpipe/scenario/constraints.py`, optionally with a field and the value
//! that it needs; `rules_of`, the type of a part whose rules apply, too; `draws` if the part draws random numbers;
//! `fact(name, value)`, attributes of its model; `input(part, field)`, a part with fields that only users write, which
//! come before the given field, or last without one; and `name`, the name of its model in Python. For an enum, `input`
//! has further kinds that only users write; `skip` marks a variant that they do not write.

mod attributes;
mod from_json;
mod interval;
mod kinds;
mod literals;
mod name;
mod part;
mod rule;
mod shape;

use proc_macro::TokenStream;
use syn::{parse_macro_input, Data, DeriveInput, Error};

/// Derives `Described` for a struct of parameters, an enum of names, and an enum of parts by kind.
#[proc_macro_derive(Described, attributes(described, field))]
pub fn described(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let derived = match &input.data {
        Data::Struct(fields) => part::derived(&input, &fields.fields),
        Data::Enum(variants) if variants.variants.iter().all(|variant| variant.fields.is_empty()) => {
            kinds::derived_names(&input, variants)
        }
        Data::Enum(variants) => kinds::derived_parts(&input, variants),
        Data::Union(_) => Err(Error::new_spanned(&input, "needs a struct or an enum")),
    };
    derived.unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `longpipe_json::FromJson` and serde's `Deserialize` for a struct, an enum of names, and an enum with the field
/// `kind`.
#[proc_macro_derive(FromJson, attributes(serde))]
pub fn from_json(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    from_json::derived(&input)
        .unwrap_or_else(Error::into_compile_error)
        .into()
}
