//! Values as they are written, where they aren't what they mean.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use airdock_bundle::platform::{Platform, PlatformError};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::StoreSpec;

/// A time in seconds, with a fraction where that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let seconds: f64 = typed.parse().map_err(|_| "not a number".to_owned())?;
        Self::new(seconds)
    }
}

impl Seconds {
    fn new(seconds: f64) -> Result<Self, String> {
        let time = Duration::try_from_secs_f64(seconds);
        time.map(Self).map_err(|error| error.to_string())
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0.subsec_nanos(), i64::try_from(self.0.as_secs())) {
            (0, Ok(seconds)) => serializer.serialize_i64(seconds),
            _ => serializer.serialize_f64(self.0.as_secs_f64()),
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds")
            }

            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Seconds, E> {
                let seconds = u64::try_from(seconds).map_err(|_| E::custom("below zero"))?;
                Ok(Seconds(Duration::from_secs(seconds)))
            }

            fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Seconds, E> {
                Seconds::new(seconds).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Number)
    }
}

/// A platform, as `OS/ARCHITECTURE[/VARIANT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformText(pub Platform);

impl FromStr for PlatformText {
    type Err = PlatformError;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        Platform::parse(typed).map(Self)
    }
}

impl Serialize for PlatformText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PlatformText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl Serialize for StoreSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StoreSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

fn from_text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(de::Error::custom)
}
