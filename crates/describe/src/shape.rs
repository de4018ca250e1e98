//! Types of fields, as far as descriptions and checks distinguish them.

use syn::punctuated::Punctuated;
use syn::{GenericArgument, PathArguments, Token, Type};

/// What a type of a field is.
pub enum Shape<'a> {
    /// `Option<T>`, with `T`.
    Optional(&'a Type),
    /// `Vec<T>`, with `T`.
    List(&'a Type),
    /// A tuple, with the types of its items.
    Tuple(&'a Punctuated<Type, Token![,]>),
    /// `String`.
    Text,
    /// `bool`.
    Bool,
    /// An integer of up to 64 bits.
    Integer,
    /// `f64`.
    Float,
    /// Any other type, which is described itself.
    Part,
}

impl Shape<'_> {
    /// Returns the shape of a type.
    pub fn of(ty: &Type) -> Shape<'_> {
        let path = match ty {
            Type::Tuple(tuple) => return Shape::Tuple(&tuple.elems),
            Type::Path(path) => &path.path,
            _ => return Shape::Part,
        };
        let Some(last) = path.segments.last() else {
            return Shape::Part;
        };
        let argument = match &last.arguments {
            PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            }),
            _ => None,
        };
        match (last.ident.to_string().as_str(), argument) {
            ("Option", Some(inner)) => Shape::Optional(inner),
            ("Vec", Some(item)) => Shape::List(item),
            (_, Some(_)) => Shape::Part,
            ("String", None) => Shape::Text,
            ("bool", None) => Shape::Bool,
            ("f64", None) => Shape::Float,
            ("u8" | "u16" | "u32" | "u64" | "i16" | "i32" | "i64", None) => Shape::Integer,
            _ => Shape::Part,
        }
    }

    /// Returns whether a type is that of a number, which may be absent.
    pub fn is_number(ty: &Type) -> bool {
        match Shape::of(ty) {
            Shape::Optional(inner) => matches!(Shape::of(inner), Shape::Integer | Shape::Float),
            shape => matches!(shape, Shape::Integer | Shape::Float),
        }
    }
}
