//! Enums whose variants have a name in data files, stored results and messages.

/// Declares an enum with the name of each variant, which serde reads and writes, too.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        pub enum $enum:ident { $( $(#[$attribute:meta])* $variant:ident = $name:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $enum { $( $(#[$attribute])* #[serde(rename = $name)] $variant, )+ }

        impl $enum {
            /// Every variant, in the order of declaration.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Every variant with its name.
            pub const WORDS: [(&'static str, Self); [$($name),+].len()] =
                [$(($name, Self::$variant)),+];

            /// Returns the name in data files, results and messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $enum {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::WORDS.into_iter().find(|(name, _)| *name == text);
                let expected = || format!("`{text}` is not one of: {}", [$($name),+].join(", "));
                found.map(|(_, variant)| variant).ok_or_else(expected)
            }
        }
    };
}
