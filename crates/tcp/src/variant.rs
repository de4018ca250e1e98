//! Parts of which a sender has one of several kinds, each with parameters of its own.

use crate::problem::Problem;

/// Parameters of one kind, which know what they accept.
pub trait Parameters {
    /// What is wrong with them, if anything is.
    fn problem(&self) -> Option<Problem> {
        None
    }
}

/// One kind of a part.
pub trait Variant {
    /// What a scenario says of it.
    type Config: Parameters;

    /// The state that it begins with.
    fn new(config: &Self::Config) -> Self;
}

/// State that few senders need stays out of the way of the others.
impl<V: Variant> Variant for Box<V> {
    type Config = V::Config;

    fn new(config: &V::Config) -> Box<V> {
        Box::new(V::new(config))
    }
}

/// The kinds of a part, a line each: its name, its state, and what it is. A scenario spells the name in lower case.
///
/// Gives the enums of states, configurations and names, what makes the first of the second, and a macro that has a state
/// of any kind do something: `each!(self, one => one.does_it())`.
macro_rules! variants {
    (
        $(#[$about:meta])*
        $part:ident, $config:ident, $kind:ident, $each:ident($dollar:tt);
        $($name:ident($state:ty): $words:literal;)+
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub enum $part {
            $(#[doc = $words] $name($state),)+
        }

        /// Which kind, and its parameters.
        #[derive(Clone, Debug, PartialEq, ::longpipe_reading::Read, ::serde::Deserialize, ::serde::Serialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum $config {
            $(#[doc = $words] $name(<$state as $crate::variant::Variant>::Config),)+
        }

        /// The kinds by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::strum::EnumIter, ::strum::VariantNames)]
        #[strum(serialize_all = "kebab-case")]
        pub enum $kind {
            $(#[doc = $words] $name,)+
        }

        impl $part {
            /// As the configuration has it.
            pub fn new(config: &$config) -> $part {
                match config {
                    $($config::$name(config) => $part::$name($crate::variant::Variant::new(config)),)+
                }
            }
        }

        impl $config {
            /// Its name.
            pub fn kind(&self) -> $kind {
                match self {
                    $($config::$name(_) => $kind::$name,)+
                }
            }

            /// What is wrong with the parameters, if anything is.
            pub fn problem(&self) -> Option<$crate::problem::Problem> {
                match self {
                    $($config::$name(config) => $crate::variant::Parameters::problem(config),)+
                }
            }
        }

        macro_rules! $each {
            ($dollar part:expr, $dollar one:ident => $dollar does:expr) => {
                match $dollar part {
                    $($part::$name($dollar one) => $dollar does,)+
                }
            };
        }
    };
}

pub(crate) use variants;
