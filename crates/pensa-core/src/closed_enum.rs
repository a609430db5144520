//! A macro for enums whose variants have the same word in JSON, in SQL and on the command line.

/// Declares such an enum, with its variants in sort order and the error for unknown words. The default hint lists the
/// words, the one that may be meant first.
macro_rules! closed_enum {
    (
        $(#[$attr:meta])* $name:ident $error:literal $(hint $hint:literal)?
        { $($(#[$vattr:meta])* $variant:ident $text:literal $(| $alias:literal)*,)* }
    ) => {
        $(#[$attr])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, clap::ValueEnum)]
        #[schemars(inline)]
        pub enum $name {
            $($(#[$vattr])* #[serde(rename = $text $(, alias = $alias)*)] #[value(name = $text $(, alias = $alias)*)] $variant,)*
        }

        impl $name {
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::error::Error;
            fn from_str(text: &str) -> $crate::error::Result<Self> {
                match text {
                    $($text $(| $alias)* => Ok(Self::$variant),)*
                    _ => Err($crate::error::Error::invalid(format!($error, text))
                        .hint($crate::closed_enum::closed_enum!(@hint [$($hint)?] text $($text)*))),
                }
            }
        }
    };
    (@hint [$hint:literal] $given:ident $($text:literal)*) => { $hint };
    (@hint [] $given:ident $($text:literal)*) => { $crate::words::hint($given, &[$($text),*]) };
}

pub(crate) use closed_enum;
