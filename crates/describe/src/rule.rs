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

/// Returns the check of a rule.
fn check(rule: &Rule, fields: &[&syn::Field], value: &dyn Fn(&Ident) -> TokenStream) -> Result<TokenStream> {
    let operand = |name: &str, source: &LitStr| {
        let (name, nested) = name
            .split_once('.')
            .map_or((name, None), |(name, nested)| (name, Some(nested)));
        for field in fields {
            let found = Name::of(field, &of_field(&field.attrs)?)?;
            if found.written == name {
                let value = value(field.ident.as_ref().expect("a named field"));
                return Ok(match nested {
                    Some(nested) => {
                        let number = quote! { ::longpipe_tcp::described::Described::number(#value, #nested) };
                        (quote! { &#number }, found.unit)
                    }
                    None => (value, found.unit),
                });
            }
        }
        Err(Error::new_spanned(source, format!("{name}: no field of this part")))
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
    // The constant of a product has the unit of the second factor.
    let (factor, rest) = match rest.strip_prefix("* ").and_then(|rest| rest.split_once(' ')) {
        Some((factor, rest)) => (Some(operand(factor, source)?), rest),
        None => (None, rest),
    };
    let (sign, right) = rest.split_once(' ').ok_or_else(wrong)?;
    let (left, own) = operand(left, source)?;
    let suffix = factor.as_ref().map_or(own, |(_, unit)| *unit);
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
    let left = match factor {
        Some((factor, _)) => quote! {
            ::longpipe_tcp::described::Operand::number(#left)
                .zip(::longpipe_tcp::described::Operand::number(#factor))
                .map(|(left, factor)| left * factor)
        },
        None => quote! { ::longpipe_tcp::described::Operand::number(#left) },
    };
    Ok(quote! { #left.zip(#right).is_some_and(|(left, right)| left.#compare(&right)) })
}
