//! Tables of the configuration file, declared once: as a type to read, and as a list of keys with
//! what they mean, from which the example and the advice on misspelt keys are made.

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What it means, one line of text an element.
    pub meaning: &'static [&'static str],
}

/// Declares a table: every key may be left out, and every key has a meaning.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        pub struct $table:ident {
            $($(#[doc = $meaning:literal])+ pub $key:ident: $value:ty,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, expecting = "a table")]
        pub struct $table {
            $($(#[doc = $meaning])+ pub $key: $value,)+
        }

        impl $table {
            /// Its keys, in the order in which they are shown.
            pub const KEYS: &'static [$crate::config::key::Key] = &[
                $($crate::config::key::Key {
                    name: stringify!($key),
                    meaning: &[$($meaning),+],
                },)+
            ];
        }
    };
}

pub(super) use table;
