//! Structs of parameters.

use crate::attributes::{about, of_field, of_part, OfField, Rule};
use crate::interval::Interval;
use crate::name::Name;
use crate::rule;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DeriveInput, Error, Fields, GenericArgument, Ident, Index, LitStr, PathArguments, Result, Type};

pub fn derived(input: &DeriveInput, fields: &Fields) -> Result<TokenStream> {
    let Fields::Named(fields) = fields else {
        return Err(Error::new_spanned(input, "needs named fields"));
    };
    let (name, ident) = (input.ident.to_string(), &input.ident);
    let described = described(name.trim_end_matches("Config"), &input.attrs, &fields.named, &[])?;
    let fields = fields.named.iter().collect::<Vec<_>>();
    let value = |name: &Ident| quote! { &self.#name };
    let checks = checks(&fields, &value)?;
    let rules = of_part(&input.attrs)?.rules;
    let rules = rule::checks(&rules, &fields, &value)?;
    Ok(quote! {
        impl ::longpipe_tcp::described::Described for #ident {
            fn described() -> ::longpipe_tcp::described::Type {
                ::longpipe_tcp::described::Type::Part { part: #described }
            }

            fn invalid(&self) -> ::core::option::Option<::longpipe_tcp::Problem> {
                ::core::option::Option::None #(.or_else(|| #checks))* .or_else(|| #rules)
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
    let of_part = of_part(attributes)?;
    let (about, label, draws) = (about(attributes), &of_part.label, of_part.draws);
    let name = of_part.name.as_deref().unwrap_or(name);
    let fields = fields.into_iter().map(field).collect::<Result<Vec<_>>>()?;
    let fields = fields.into_iter().flatten();
    let rules = common.iter().chain(&of_part.rules).map(|rule| {
        let (field, condition, message) = (&rule.field, &rule.condition, &rule.message);
        let remedy = match &rule.remedy {
            Some((field, value)) => quote! { ::core::option::Option::Some((#field, #value)) },
            None => quote! { ::core::option::Option::None },
        };
        quote! {
            ::longpipe_tcp::described::Rule {
                field: #field, condition: #condition, message: #message, remedy: #remedy,
            }
        }
    });
    let inherited = of_part.rules_of.iter();
    let facts = pairs(&of_part.facts);
    let inputs = of_part.inputs.iter().map(|(part, before)| {
        quote! { .with_input(::longpipe_tcp::described::part::<#part>(), #before) }
    });
    Ok(quote! {
        ::longpipe_tcp::described::Part {
            name: #name,
            label: #label,
            about: #about,
            draws: #draws,
            fields: vec![#(#fields),*],
            rules: [vec![#(#rules),*], #(::longpipe_tcp::described::rules::<#inherited>()),*].concat(),
            facts: vec![#facts],
        }
        #(#inputs)*
    })
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

/// Returns the check of a value with a type, to which `value` refers.
fn check(
    attribute: &OfField,
    ty: &Type,
    name: &str,
    suffix: &'static str,
    value: TokenStream,
) -> Result<Option<TokenStream>> {
    if let Some(inner) = argument(ty, "Option") {
        let inner = check(attribute, inner, name, suffix, quote! { value })?;
        return Ok(inner.map(|inner| quote! { (#value).as_ref().and_then(|value| #inner) }));
    }
    if let Type::Tuple(tuple) = ty {
        let items = tuple
            .elems
            .iter()
            .zip(ranges(attribute))
            .enumerate()
            .map(|(place, (ty, range))| {
                let (attribute, place) = (OfField::in_range(range), Index::from(place));
                let suffix = if place.index == 0 { suffix } else { "" };
                check(&attribute, ty, name, suffix, quote! { &(#value).#place })
            });
        let items = items.collect::<Result<Vec<_>>>()?;
        return Ok(Some(quote! { ::core::option::Option::None #(.or_else(|| #items))* }));
    }
    if let Some(inner) = argument(ty, "Vec") {
        let each = match attribute.written {
            Some(_) => None,
            None => check(attribute, inner, name, suffix, quote! { value })?,
        }
        .into_iter();
        let order = (attribute.ascending || attribute.increasing)
            .then(|| quote! { ::longpipe_tcp::described::unless_ascending(#name, #value) });
        let order = order.into_iter();
        let sum = attribute
            .sums_to_one
            .then(|| quote! { ::longpipe_tcp::described::unless_one(#name, #value) });
        let sum = sum.into_iter();
        let length = match &attribute.len {
            None => None,
            Some(len) => {
                let bounds = Interval::parse(len)?.bounds("", false)?;
                Some(quote! { #bounds.problem(#name, (#value).len() as i128) })
            }
        }
        .into_iter();
        return Ok(Some(quote! {
            ::core::option::Option::None #(.or_else(|| #length))* #(.or_else(|| (#value).iter().find_map(|value| #each)))*
                #(.or_else(|| #order))* #(.or_else(|| #sum))*
        }));
    }
    let scalar = Scalar::of(ty);
    if matches!(scalar, Some(Scalar::Bool)) {
        return Ok(None);
    }
    if let (Some(scalar), true) = (scalar, attribute.values.is_empty()) {
        let range = attribute
            .range
            .as_ref()
            .ok_or_else(|| Error::new_spanned(ty, "needs a range"))?;
        let is_float = matches!(scalar, Scalar::Float);
        let bounds = Interval::parse(range)?.bounds(suffix, is_float)?;
        let number = if is_float {
            quote! { *#value }
        } else {
            quote! { i128::from(*#value) }
        };
        return Ok(Some(quote! { #bounds.problem(#name, #number) }));
    }
    if is_named(ty, "String") && attribute.values.is_empty() {
        let len = attribute
            .len
            .as_ref()
            .map(|len| Interval::parse(len)?.bounds("", false));
        let bounds = len.transpose()?;
        return Ok(bounds.map(|bounds| quote! { #bounds.problem(#name, (#value).chars().count() as i128) }));
    }
    if !attribute.values.is_empty() {
        let values = &attribute.values;
        return Ok(Some(
            quote! { ::longpipe_tcp::described::unless_among(#name, #value, &[#(#values),*]) },
        ));
    }
    Ok(Some(quote! {
        ::longpipe_tcp::described::Described::invalid(#value).map(|problem| problem.within(#name))
    }))
}

/// Returns the intervals of the items of a tuple; None for items that are no numbers.
fn ranges(attribute: &OfField) -> impl Iterator<Item = Option<&LitStr>> {
    attribute.each.iter().map(Some).chain(std::iter::repeat(None))
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
    let about = about(&field.attrs);
    let (about, later) = (about.trim_end_matches('.'), attribute.later);
    let optional = argument(&field.ty, "Option");
    // 'unlimited' is a value that users write.
    let has_text = attribute.written.is_some() && attribute.default.is_some();
    let is_optional = optional.is_some() && !has_text && attribute.word.is_none();
    let inner = optional.unwrap_or(&field.ty);
    let ty = type_of(&attribute, inner, name.unit, name.dimension)?;
    let default = match (&attribute.default, is_optional) {
        (Some(default), _) => quote! { ::core::option::Option::Some(#default) },
        (None, true) => quote! { ::core::option::Option::Some("null") },
        (None, false) => quote! { ::core::option::Option::None },
    };
    let (written, suffix, profiles) = (&name.written, name.suffix, pairs(&attribute.profiles));
    Ok(Some(quote! {
        ::longpipe_tcp::described::Field {
            name: #written, unit: #suffix, about: #about, ty: #ty, optional: #is_optional, default: #default, later: #later,
            profiles: vec![#profiles],
        }
    }))
}

fn type_of(attribute: &OfField, ty: &Type, suffix: &'static str, dimension: &str) -> Result<TokenStream> {
    if let Some((_, len)) = &attribute.written {
        let len = Interval::parse(len)?.bounds("", false)?;
        return Ok(quote! {
            ::longpipe_tcp::described::Type::Text { len: ::core::option::Option::Some(#len), pattern: "" }
        });
    }
    if let Type::Tuple(tuple) = ty {
        let items = tuple
            .elems
            .iter()
            .zip(ranges(attribute))
            .enumerate()
            .map(|(place, (ty, range))| {
                let (suffix, dimension) = if place == 0 { (suffix, dimension) } else { ("", "") };
                type_of(&OfField::in_range(range), ty, suffix, dimension)
            });
        let items = items.collect::<Result<Vec<_>>>()?;
        return Ok(quote! { ::longpipe_tcp::described::Type::Row { each: vec![#(#items),*] } });
    }
    if let Some(inner) = argument(ty, "Vec") {
        let of = type_of(attribute, inner, suffix, dimension)?;
        let len = match &attribute.len {
            None => quote! { ::core::option::Option::None },
            Some(len) => {
                let bounds = Interval::parse(len)?.bounds("", false)?;
                quote! { ::core::option::Option::Some(#bounds) }
            }
        };
        let (ascending, increasing, sums_to_one) = (attribute.ascending, attribute.increasing, attribute.sums_to_one);
        return Ok(quote! {
            ::longpipe_tcp::described::Type::List {
                of: Box::new(#of), len: #len, ascending: #ascending, increasing: #increasing, sums_to_one: #sums_to_one,
            }
        });
    }
    if is_named(ty, "String") {
        let values = &attribute.values;
        if !values.is_empty() {
            return Ok(quote! { ::longpipe_tcp::described::Type::Names { names: vec![#(#values),*] } });
        }
        let len = attribute
            .len
            .as_ref()
            .map(|len| Interval::parse(len)?.bounds("", false));
        let len = match len.transpose()? {
            None => quote! { ::core::option::Option::None },
            Some(bounds) => quote! { ::core::option::Option::Some(#bounds) },
        };
        let pattern = attribute.pattern.as_deref().unwrap_or_default();
        return Ok(quote! { ::longpipe_tcp::described::Type::Text { len: #len, pattern: #pattern } });
    }
    let Some(scalar) = Scalar::of(ty) else {
        let values = &attribute.values;
        return Ok(quote! { ::longpipe_tcp::described::among::<#ty>(&[#(#values),*]) });
    };
    if matches!(scalar, Scalar::Bool) {
        return Ok(quote! { ::longpipe_tcp::described::Type::Bool });
    }
    if !attribute.values.is_empty() {
        let values = &attribute.values;
        return Ok(quote! { ::longpipe_tcp::described::Type::Numbers { numbers: vec![#(#values),*] } });
    }
    let range = attribute
        .range
        .as_ref()
        .ok_or_else(|| Error::new_spanned(ty, "needs a range"))?;
    let bounds = Interval::parse(range)?.bounds(suffix, matches!(scalar, Scalar::Float))?;
    let word = attribute.word.as_deref().unwrap_or_default();
    Ok(match scalar {
        Scalar::Float => quote! { ::longpipe_tcp::described::Type::Float { bounds: #bounds } },
        _ if dimension == "share" => quote! { ::longpipe_tcp::described::Type::Share { bounds: #bounds } },
        _ if dimension.is_empty() => {
            quote! { ::longpipe_tcp::described::Type::Integer { bounds: #bounds, word: #word } }
        }
        _ => quote! {
            ::longpipe_tcp::described::Type::Quantity { dimension: #dimension, bounds: #bounds, word: #word }
        },
    })
}

/// Types of numbers and booleans.
enum Scalar {
    Bool,
    Integer,
    Float,
}

impl Scalar {
    fn of(ty: &Type) -> Option<Scalar> {
        let Type::Path(path) = ty else { return None };
        match path.path.get_ident()?.to_string().as_str() {
            "bool" => Some(Scalar::Bool),
            "f64" => Some(Scalar::Float),
            "u8" | "u16" | "u32" | "u64" | "i16" | "i32" | "i64" => Some(Scalar::Integer),
            _ => None,
        }
    }
}

/// Returns whether a type is that of a number, which may be absent.
pub fn is_number(ty: &Type) -> bool {
    let scalar = Scalar::of(argument(ty, "Option").unwrap_or(ty));
    matches!(scalar, Some(Scalar::Integer | Scalar::Float))
}

/// Returns whether a type has this name.
fn is_named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(name))
}

/// Returns the argument of a generic type with this name, such as `T` of `Option<T>`.
fn argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        }),
        _ => None,
    }
}
