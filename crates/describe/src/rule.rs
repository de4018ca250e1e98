//! Rules of several fields, in the language of `python/longpipe/scenario/constraints.py`.

use crate::attributes::Rule;
use crate::interval::{number, quantity};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, Ident, LitStr, Result};

/// Returns the check of a rule, as an expression of type `Option<Problem>`; `value` is a reference to a field.
pub fn check(rule: &Rule, fields: &[&syn::Field], value: &dyn Fn(&Ident) -> TokenStream) -> Result<TokenStream> {
    let operand = |name: &str, source: &LitStr| {
        let found = fields
            .iter()
            .filter_map(|field| field.ident.as_ref())
            .find_map(|ident| {
                let whole = ident.to_string();
                let (written, suffix, _) = quantity(&whole);
                (written == name).then_some((value(ident), suffix))
            });
        found.ok_or_else(|| Error::new_spanned(source, format!("{name}: no field of this part")))
    };
    let condition = rule.condition.value();
    let clauses = condition
        .split(" and ")
        .map(|clause| holds(clause, rule, &operand))
        .collect::<Result<Vec<_>>>()?;
    let message = rule.message.value();
    let mut text = String::new();
    let mut shown = Vec::new();
    for (place, piece) in message.split(['{', '}']).enumerate() {
        if place % 2 == 0 {
            text.push_str(piece);
            continue;
        }
        let (operand, unit) = operand(piece, &rule.message)?;
        text.push_str(if unit.is_empty() { "{}" } else { "{} " });
        text.push_str(unit);
        shown.push(quote! { ::longpipe_tcp::described::shown(#operand) });
    }
    let field = &rule.field;
    Ok(quote! {
        (#(#clauses)&&*).then(|| ::longpipe_tcp::Problem::of_message(#field, &format!(#text, #(#shown),*)))
    })
}

type Operands<'a> = dyn Fn(&str, &LitStr) -> Result<(TokenStream, &'static str)> + 'a;

/// Returns the condition of one clause, such as `min >= max` or `gap is 'drawn'`.
fn holds(clause: &str, rule: &Rule, operand: &Operands<'_>) -> Result<TokenStream> {
    let source = &rule.condition;
    let wrong = || Error::new_spanned(source, format!("{clause}: needs FIELD < FIELD, or FIELD is 'CONSTANT'"));
    for (words, is_equal) in [(" is not ", false), (" is ", true)] {
        let Some((left, right)) = clause.split_once(words) else {
            continue;
        };
        let (left, _) = operand(left, source)?;
        let right = match right {
            "none" => quote! { ::core::option::Option::None },
            text => {
                let text = text.trim_matches('\'');
                quote! { ::core::option::Option::Some(#text) }
            }
        };
        return Ok(quote! {
            ((::longpipe_tcp::described::Operand::text(#left).as_deref() == #right) == #is_equal)
        });
    }
    let (left, rest) = clause.split_once(' ').ok_or_else(wrong)?;
    let (sign, right) = rest.split_once(' ').ok_or_else(wrong)?;
    let (left, suffix) = operand(left, source)?;
    let compare = format_ident!(
        "{}",
        match sign {
            "<" => "lt",
            "<=" => "le",
            ">" => "gt",
            ">=" => "ge",
            _ => return Err(wrong()),
        }
    );
    let constant = right.trim_matches('\'');
    let right = if right.starts_with('\'') || constant.starts_with(|letter: char| letter.is_ascii_digit()) {
        let number = number(constant, suffix, suffix.is_empty()).ok_or_else(wrong)?;
        quote! { ::core::option::Option::Some(#number as f64) }
    } else {
        let (right, _) = operand(right, source)?;
        quote! { ::longpipe_tcp::described::Operand::number(#right) }
    };
    Ok(quote! {
        ::longpipe_tcp::described::Operand::number(#left).zip(#right).is_some_and(|(left, right)| left.#compare(&right))
    })
}
