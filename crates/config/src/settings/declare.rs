//! Declaration of options. One entry of `settings!` is a field, an option of the command line, a key
//! of campaign files, and its place in help; values of the command line override those of a file.

use crate::catalog::document::TomlTable;
use crate::settings::values::Kind;
use crate::{Catalog, CatalogError};

/// An option that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenOption {
    /// Key in campaign files.
    pub key: &'static str,
    /// Heading in help. Options without one are those that most people need.
    pub heading: Option<&'static str>,
}

impl GivenOption {
    /// Returns the option as typed.
    pub fn flag(&self) -> String {
        format!("--{}", self.key.replace('_', "-"))
    }
}

/// Options declared with `settings!`.
pub(crate) trait DeclaredOptions: Sized {
    /// Returns the keys of a campaign file.
    fn keys() -> Vec<&'static str>;
    /// Reads the options of a campaign file.
    fn read(top: &TomlTable<'_>, catalog: &Catalog) -> Result<Self, CatalogError>;
    /// Returns these options, and those of `below` that are not among them.
    fn or(self, below: Self) -> Self;
    /// Returns the options that have a value.
    fn given(&self) -> Vec<GivenOption>;
}

/// A field that may have no value.
pub(crate) trait OptionField: Default {
    /// Returns true if the field has a value.
    fn is_given(&self) -> bool;

    /// Returns the value of this field, else of another.
    fn or(self, below: Self) -> Self {
        if self.is_given() { self } else { below }
    }
}

impl<T> OptionField for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }
}

impl<T> OptionField for Vec<T> {
    fn is_given(&self) -> bool {
        !self.is_empty()
    }
}

impl OptionField for bool {
    fn is_given(&self) -> bool {
        *self
    }
}

/// Reads a field of a campaign file.
pub(crate) fn read<F: Default>(
    top: &TomlTable<'_>,
    kind: &Kind<F>,
    key: &'static str,
    catalog: &Catalog,
) -> Result<F, CatalogError> {
    let value = kind.read.as_ref().map(|read| top.read(key, |value| read(&value, catalog)));
    Ok(value.transpose()?.flatten().unwrap_or_default())
}

/// Declares options, by heading. An attribute `arg` overrides what follows from the field and its kind.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $name:ident [$( $group:ident: $groups:ty ),*] {
            $( $heading:expr => { $(
                $(#[$attribute:meta])*
                $field:ident: $type:ty = $kind:expr;
            )* } )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, clap::Args)]
        pub struct $name {
            $(
                /// Options that another command has, too.
                #[command(flatten)]
                pub $group: $groups,
            )*
            $( $(
                #[arg(
                    long,
                    help_heading = $heading,
                    value_name = Kind::<$type>::from($kind).name,
                    value_parser = Kind::<$type>::from($kind).parser
                )]
                $(#[$attribute])*
                pub $field: $type,
            )* )*
        }

        impl $crate::settings::declare::DeclaredOptions for $name {
            fn keys() -> Vec<&'static str> {
                let own = [$( $(
                    Kind::<$type>::from($kind).read.is_some().then_some(stringify!($field)),
                )* )*];
                let groups: Vec<Vec<&'static str>> = vec![$( <$groups>::keys() ),*];
                own.into_iter().flatten().chain(groups.concat()).collect()
            }

            fn read(
                top: &$crate::catalog::document::TomlTable<'_>,
                catalog: &$crate::Catalog,
            ) -> Result<Self, $crate::CatalogError> {
                Ok(Self {
                    $( $group: <$groups>::read(top, catalog)?, )*
                    $( $(
                        $field: $crate::settings::declare::read(
                            top, &Kind::from($kind), stringify!($field), catalog,
                        )?,
                    )* )*
                })
            }

            fn or(self, below: Self) -> Self {
                use $crate::settings::declare::OptionField;
                Self {
                    $( $group: self.$group.or(below.$group), )*
                    $( $( $field: OptionField::or(self.$field, below.$field), )* )*
                }
            }

            fn given(&self) -> Vec<$crate::settings::declare::GivenOption> {
                use $crate::settings::declare::{GivenOption, OptionField};
                let own = [$( $( (
                    OptionField::is_given(&self.$field),
                    GivenOption { key: stringify!($field), heading: $heading },
                ), )* )*];
                let given = own.into_iter().filter(|(given, _)| *given).map(|(_, option)| option);
                let groups: Vec<Vec<GivenOption>> = vec![$( self.$group.given() ),*];
                given.chain(groups.concat()).collect()
            }
        }
    };
}
pub(crate) use settings;
