//! Rules of several fields, in the language of `python/longpipe/scenario/constraints.py`.

use crate::attributes::{of_field, Rule};
use crate::interval::number;
use crate::name::Name;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, Ident, LitStr, Result};

/// Returns the checks of rules, as an expression of type `Option<Problem>`; `value` is a reference to a field. The page
/// evaluates the rules by `crates/scenario` before it runs a scenario, so that its engine does not contain them.
pub fn checks<'a>(
    rules: impl IntoIterator<Item = &'a Rule>,
    fields: &[&syn::Field],
    value: &dyn Fn(&Ident) -> TokenStream,
) -> Result<TokenStream> {
    let rules = rules.into_iter().map(|rule| check(rule, fields, value));
    let rules = rules.collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        if ::core::cfg!(target_family = "wasm") {
            ::core::option::Option::None
        } else {
            ::core::option::Option::None #(.or_else(|| #rules))*
        }
    })
}

/// A field that a rule names.
struct Operand {
    /// Reference to its value.
    value: TokenStream,
    /// Unit of its name; empty if it has none.
    unit: &'static str,
}

/// Returns the operand with a name, which is a field of the part or, after a period, a field of a nested part.
type Operands<'a> = dyn Fn(&str, &LitStr) -> Result<Operand> + 'a;

/// Returns the check of a rule.
fn check(rule: &Rule, fields: &[&syn::Field], value: &dyn Fn(&Ident) -> TokenStream) -> Result<TokenStream> {
    let operand = |name: &str, source: &LitStr| operand(name, source, fields, value);
    let condition = rule.condition.value();
    let clauses = condition
        .split(" and ")
        .map(|clause| holds(clause, &rule.condition, &operand))
        .collect::<Result<Vec<_>>>()?;
    let message = message(&rule.message, &operand)?;
    let field = &rule.field;
    Ok(quote! { (#(#clauses)&&*).then(|| ::longpipe_tcp::Problem::of_message(#field, &#message)) })
}

fn operand(
    name: &str,
    source: &LitStr,
    fields: &[&syn::Field],
    value: &dyn Fn(&Ident) -> TokenStream,
) -> Result<Operand> {
    let (name, nested) = name
        .split_once('.')
        .map_or((name, None), |(name, nested)| (name, Some(nested)));
    for field in fields {
        let Name { written, unit, .. } = Name::of(field, &of_field(&field.attrs)?)?;
        if written == name {
            let value = value(field.ident.as_ref().expect("a named field"));
            let value = match nested {
                Some(nested) => quote! { &::longpipe_tcp::described::Described::number(#value, #nested) },
                None => value,
            };
            return Ok(Operand { value, unit });
        }
    }
    Err(Error::new_spanned(source, format!("{name}: no field of this part")))
}

/// Returns the message of a rule, in which names in braces become values with their units.
fn message(source: &LitStr, operand: &Operands<'_>) -> Result<TokenStream> {
    let mut format = String::new();
    let mut arguments = Vec::new();
    for (place, piece) in source.value().split(['{', '}']).enumerate() {
        if place % 2 == 0 {
            format.push_str(piece);
            continue;
        }
        let Operand { value, unit } = operand(piece, source)?;
        format.push_str(if unit.is_empty() { "{}" } else { "{} " });
        format.push_str(unit);
        arguments.push(quote! { ::longpipe_tcp::described::shown(#value) });
    }
    Ok(quote! { format!(#format, #(#arguments),*) })
}

/// Returns the condition of one clause, such as `min >= max` or `gap is 'drawn'`.
fn holds(clause: &str, source: &LitStr, operand: &Operands<'_>) -> Result<TokenStream> {
    if let Some((left, right)) = clause.split_once(" is not ") {
        let is_equal = is_equal(&operand(left, source)?, right);
        return Ok(quote! { (!#is_equal) });
    }
    if let Some((left, right)) = clause.split_once(" is ") {
        return Ok(is_equal(&operand(left, source)?, right));
    }
    let expected = || Error::new_spanned(source, format!("{clause}: needs FIELD < FIELD, or FIELD is 'CONSTANT'"));
    compares(clause, source, operand)?.ok_or_else(expected)
}

/// Returns the comparison of an operand with a word, or with `none`.
fn is_equal(left: &Operand, right: &str) -> TokenStream {
    let left = &left.value;
    let right = match right {
        "none" => quote! { ::core::option::Option::None },
        word => {
            let word = word.trim_matches('\'');
            quote! { ::core::option::Option::Some(#word) }
        }
    };
    quote! { (::longpipe_tcp::described::Operand::text(#left).as_deref() == #right) }
}

/// Returns the comparison of an operand, or of its product with another one (`a * b < c`), with an operand or a
/// constant; None if the clause has another form.
fn compares(clause: &str, source: &LitStr, operand: &Operands<'_>) -> Result<Option<TokenStream>> {
    let Some((left, comparison)) = clause.split_once(' ') else {
        return Ok(None);
    };
    let product = comparison
        .strip_prefix("* ")
        .and_then(|comparison| comparison.split_once(' '));
    let (factor, comparison) = match product {
        Some((factor, comparison)) => (Some(operand(factor, source)?), comparison),
        None => (None, comparison),
    };
    let Some((sign, right)) = comparison.split_once(' ') else {
        return Ok(None);
    };
    let method = match sign {
        "<" => "lt",
        "<=" => "le",
        ">" => "gt",
        ">=" => "ge",
        _ => return Ok(None),
    };
    let method = format_ident!("{method}");
    let left = operand(left, source)?;
    // The constant of a product has the unit of the second factor.
    let unit = factor.as_ref().unwrap_or(&left).unit;
    let constant = right.trim_matches('\'');
    let right = if right.starts_with('\'') || constant.starts_with(|letter: char| letter.is_ascii_digit()) {
        let Some(constant) = number(constant, unit, unit.is_empty()) else {
            return Ok(None);
        };
        quote! { ::core::option::Option::Some(#constant as f64) }
    } else {
        number_of(&operand(right, source)?)
    };
    let mut value = number_of(&left);
    if let Some(factor) = factor {
        let factor = number_of(&factor);
        value = quote! { #value.zip(#factor).map(|(left, factor)| left * factor) };
    }
    Ok(Some(
        quote! { #value.zip(#right).is_some_and(|(left, right)| left.#method(&right)) },
    ))
}

/// Returns the value of an operand as a number, of type `Option<f64>`.
fn number_of(operand: &Operand) -> TokenStream {
    let value = &operand.value;
    quote! { ::longpipe_tcp::described::Operand::number(#value) }
}
