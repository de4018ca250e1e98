//! Code for `#[derive(Described)]` on structs: their description and their checks.

use crate::attributes::{about, of_field, of_part, OfField, Rule};
use crate::interval::Interval;
use crate::name::Name;
use crate::rule;
use crate::shape::Shape;
use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Attribute, DeriveInput, Error, Fields, Ident, Index, Result, Token, Type};

/// Returns the implementation of `Described` for a struct.
pub fn derived(input: &DeriveInput, fields: &Fields) -> Result<TokenStream> {
    let Fields::Named(fields) = fields else {
        return Err(Error::new_spanned(input, "needs named fields"));
    };
    let (name, ident) = (input.ident.to_string(), &input.ident);
    let description = described(name.trim_end_matches("Config"), &input.attrs, &fields.named, &[])?;
    let fields = fields.named.iter().collect::<Vec<_>>();
    let value = |name: &Ident| quote! { &self.#name };
    let field_checks = checks(&fields, &value)?;
    let rule_checks = rule::checks(&of_part(&input.attrs)?.rules, &fields, &value)?;
    Ok(quote! {
        impl ::longpipe_tcp::described::Described for #ident {
            fn described() -> ::longpipe_tcp::described::Type {
                ::longpipe_tcp::described::Type::Part { part: #description }
            }

            fn invalid(&self) -> ::core::option::Option<::longpipe_tcp::Problem> {
                ::core::option::Option::None #(.or_else(|| #field_checks))* .or_else(|| #rule_checks)
            }
        }
    })
}

/// Returns the description of a part with the given fields; `common` are rules of all kinds of the part.
pub fn described<'a>(
    name: &str,
    attributes: &[Attribute],
    fields: impl IntoIterator<Item = &'a syn::Field>,
    common: &[Rule],
) -> Result<TokenStream> {
    let declared = of_part(attributes)?;
    let (text, label, draws) = (about(attributes), &declared.label, declared.draws);
    let name = declared.name.as_deref().unwrap_or(name);
    let fields = fields.into_iter().map(field).collect::<Result<Vec<_>>>()?;
    let fields = fields.into_iter().flatten();
    let rules = common.iter().chain(&declared.rules).map(|rule| {
        let (field, condition, message) = (&rule.field, &rule.condition, &rule.message);
        let remedy = option(rule.remedy.as_ref().map(|(field, value)| quote! { (#field, #value) }));
        quote! {
            ::longpipe_tcp::described::Rule {
                field: #field, condition: #condition, message: #message, remedy: #remedy,
            }
        }
    });
    let inherited = declared.rules_of.iter();
    let facts = pairs(&declared.facts);
    let inputs = declared.inputs.iter().map(|(part, before)| {
        quote! { .with_input(::longpipe_tcp::described::part::<#part>(), #before) }
    });
    Ok(quote! {
        ::longpipe_tcp::described::Part {
            name: #name,
            label: #label,
            about: #text,
            draws: #draws,
            fields: vec![#(#fields),*],
            rules: [vec![#(#rules),*], #(::longpipe_tcp::described::rules::<#inherited>()),*].concat(),
            facts: vec![#facts],
        }
        #(#inputs)*
    })
}

/// Returns the expression of an option.
fn option(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => quote! { ::core::option::Option::Some(#value) },
        None => quote! { ::core::option::Option::None },
    }
}

/// Returns the items of a list of pairs.
fn pairs(pairs: &[(String, String)]) -> TokenStream {
    let items = pairs.iter().map(|(name, value)| quote! { (#name, #value) });
    quote! { #(#items),* }
}

/// Returns the checks of fields, as expressions of type `Option<Problem>`; `value` is a reference to a field.
pub fn checks(fields: &[&syn::Field], value: &dyn Fn(&Ident) -> TokenStream) -> Result<Vec<TokenStream>> {
    let checks = fields.iter().map(|field| {
        let attribute = of_field(&field.attrs)?;
        let ident = field.ident.as_ref().expect("a named field");
        if attribute.of.is_some() || attribute.skip {
            return Ok(None);
        }
        let name = Name::of(field, &attribute)?;
        check(&attribute, &field.ty, &name.written, name.unit, value(ident))
    });
    Ok(checks.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Returns the check of the value of type `ty` to which the expression `value` refers; None if every value is valid.
fn check(
    attribute: &OfField,
    ty: &Type,
    name: &str,
    suffix: &'static str,
    value: TokenStream,
) -> Result<Option<TokenStream>> {
    let values = &attribute.values;
    Ok(match Shape::of(ty) {
        Shape::Optional(inner) => {
            let inner = check(attribute, inner, name, suffix, quote! { value })?;
            inner.map(|inner| quote! { (#value).as_ref().and_then(|value| #inner) })
        }
        Shape::Tuple(types) => {
            let items = items(attribute, types).map(|(place, ty, attribute)| {
                let (suffix, index) = (if place == 0 { suffix } else { "" }, Index::from(place));
                check(&attribute, ty, name, suffix, quote! { &(#value).#index })
            });
            let items = items.collect::<Result<Vec<_>>>()?;
            Some(quote! { ::core::option::Option::None #(.or_else(|| #items))* })
        }
        Shape::List(item) => Some(check_list(attribute, item, name, suffix, &value)?),
        Shape::Bool => None,
        // Listed values take the place of a range or a length.
        _ if !values.is_empty() => {
            Some(quote! { ::longpipe_tcp::described::unless_among(#name, #value, &[#(#values),*]) })
        }
        Shape::Integer => {
            let bounds = range(attribute, ty, suffix, false)?;
            Some(quote! { #bounds.problem(#name, i128::from(*#value)) })
        }
        Shape::Float => {
            let bounds = range(attribute, ty, suffix, true)?;
            Some(quote! { #bounds.problem(#name, *#value) })
        }
        Shape::Text => {
            length(attribute)?.map(|bounds| quote! { #bounds.problem(#name, (#value).chars().count() as i128) })
        }
        Shape::Part => Some(quote! {
            ::longpipe_tcp::described::Described::invalid(#value).map(|problem| problem.within(#name))
        }),
    })
}

/// Returns the check of a list: its length, each item, the order of the items, and their sum.
fn check_list(
    attribute: &OfField,
    item: &Type,
    name: &str,
    suffix: &'static str,
    value: &TokenStream,
) -> Result<TokenStream> {
    let length = length(attribute)?.map(|bounds| quote! { #bounds.problem(#name, (#value).len() as i128) });
    let each = match attribute.written {
        Some(_) => None,
        None => check(attribute, item, name, suffix, quote! { value })?,
    };
    let each = each.map(|each| quote! { (#value).iter().find_map(|value| #each) });
    let is_ordered = attribute.ascending || attribute.increasing;
    let order = is_ordered.then(|| quote! { ::longpipe_tcp::described::unless_ascending(#name, #value) });
    let sum = attribute
        .sums_to_one
        .then(|| quote! { ::longpipe_tcp::described::unless_one(#name, #value) });
    let checks = [length, each, order, sum].into_iter().flatten();
    Ok(quote! { ::core::option::Option::None #(.or_else(|| #checks))* })
}

/// Returns the interval of a number. Returns an error if the field declares none.
fn range(attribute: &OfField, ty: &Type, suffix: &'static str, is_float: bool) -> Result<TokenStream> {
    let range = attribute
        .range
        .as_ref()
        .ok_or_else(|| Error::new_spanned(ty, "needs a range"))?;
    Interval::parse(range)?.bounds(suffix, is_float)
}

/// Returns the interval of the length of a text or a list, if the field declares one.
fn length(attribute: &OfField) -> Result<Option<TokenStream>> {
    attribute
        .len
        .as_ref()
        .map(|len| Interval::parse(len)?.bounds("", false))
        .transpose()
}

/// Returns the place, the type and the attribute of each item of a tuple; items that are not numbers have no interval.
fn items<'a>(
    attribute: &'a OfField,
    types: &'a Punctuated<Type, Token![,]>,
) -> impl Iterator<Item = (usize, &'a Type, OfField)> {
    let ranges = attribute.each.iter().map(Some).chain(std::iter::repeat(None));
    let items = types.iter().zip(ranges).enumerate();
    items.map(|(place, (ty, range))| (place, ty, OfField::in_range(range)))
}

/// Returns the description of a field; None if users do not write it.
fn field(field: &syn::Field) -> Result<Option<TokenStream>> {
    let attribute = of_field(&field.attrs)?;
    if attribute.skip {
        return Ok(None);
    }
    if let Some(part) = &attribute.of {
        let ident = field.ident.as_ref().expect("a named field").to_string();
        return Ok(Some(quote! { ::longpipe_tcp::described::field::<#part>(#ident) }));
    }
    let name = Name::of(field, &attribute)?;
    let text = about(&field.attrs);
    let (text, later) = (text.trim_end_matches('.'), attribute.later);
    let optional = match Shape::of(&field.ty) {
        Shape::Optional(inner) => Some(inner),
        _ => None,
    };
    // 'unlimited' is a value that users write.
    let has_text = attribute.written.is_some() && attribute.default.is_some();
    let is_optional = optional.is_some() && !has_text && attribute.word.is_none();
    let inner = optional.unwrap_or(&field.ty);
    let ty = type_of(&attribute, inner, name.unit, name.dimension)?;
    let default = attribute.default.as_deref().or(is_optional.then_some("null"));
    let default = option(default.map(|default| quote! { #default }));
    let (written, suffix, profiles) = (&name.written, name.suffix, pairs(&attribute.profiles));
    Ok(Some(quote! {
        ::longpipe_tcp::described::Field {
            name: #written, unit: #suffix, about: #text, ty: #ty, optional: #is_optional, default: #default, later: #later,
            profiles: vec![#profiles],
        }
    }))
}

/// Returns the description of the type of a field that is not optional.
fn type_of(attribute: &OfField, ty: &Type, suffix: &'static str, dimension: &str) -> Result<TokenStream> {
    if let Some((_, len)) = &attribute.written {
        let len = Interval::parse(len)?.bounds("", false)?;
        return Ok(quote! {
            ::longpipe_tcp::described::Type::Text { len: ::core::option::Option::Some(#len), pattern: "" }
        });
    }
    let values = &attribute.values;
    Ok(match Shape::of(ty) {
        Shape::Tuple(types) => {
            let items = items(attribute, types).map(|(place, ty, attribute)| {
                let (suffix, dimension) = if place == 0 { (suffix, dimension) } else { ("", "") };
                type_of(&attribute, ty, suffix, dimension)
            });
            let items = items.collect::<Result<Vec<_>>>()?;
            quote! { ::longpipe_tcp::described::Type::Row { each: vec![#(#items),*] } }
        }
        Shape::List(item) => {
            let (of, len) = (type_of(attribute, item, suffix, dimension)?, option(length(attribute)?));
            let (ascending, increasing) = (attribute.ascending, attribute.increasing);
            let sums_to_one = attribute.sums_to_one;
            quote! {
                ::longpipe_tcp::described::Type::List {
                    of: Box::new(#of), len: #len, ascending: #ascending, increasing: #increasing,
                    sums_to_one: #sums_to_one,
                }
            }
        }
        Shape::Optional(_) | Shape::Part => quote! { ::longpipe_tcp::described::among::<#ty>(&[#(#values),*]) },
        Shape::Bool => quote! { ::longpipe_tcp::described::Type::Bool },
        Shape::Text if !values.is_empty() => {
            quote! { ::longpipe_tcp::described::Type::Names { names: vec![#(#values),*] } }
        }
        Shape::Text => {
            let (len, pattern) = (
                option(length(attribute)?),
                attribute.pattern.as_deref().unwrap_or_default(),
            );
            quote! { ::longpipe_tcp::described::Type::Text { len: #len, pattern: #pattern } }
        }
        Shape::Integer | Shape::Float if !values.is_empty() => {
            quote! { ::longpipe_tcp::described::Type::Numbers { numbers: vec![#(#values),*] } }
        }
        Shape::Float => {
            let bounds = range(attribute, ty, suffix, true)?;
            quote! { ::longpipe_tcp::described::Type::Float { bounds: #bounds } }
        }
        Shape::Integer => {
            let bounds = range(attribute, ty, suffix, false)?;
            let word = attribute.word.as_deref().unwrap_or_default();
            match dimension {
                "share" => quote! { ::longpipe_tcp::described::Type::Share { bounds: #bounds } },
                "" => quote! { ::longpipe_tcp::described::Type::Integer { bounds: #bounds, word: #word } },
                _ => quote! {
                    ::longpipe_tcp::described::Type::Quantity { dimension: #dimension, bounds: #bounds, word: #word }
                },
            }
        }
    })
}
