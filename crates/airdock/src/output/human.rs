//! Numbers as people read them.

use std::fmt;

use jiff::Timestamp;

/// Bytes, with one decimal and a binary unit: `1.5 MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        if bytes < 1024 {
            return f.pad(&format!("{bytes} B"));
        }
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let mut tenths = u128::from(bytes) * 10 / 1024;
        let mut shown = "KiB";
        for unit in units {
            shown = unit;
            if tenths < 10240 {
                break;
            }
            tenths /= 1024;
        }
        f.pad(&format!("{}.{} {shown}", tenths / 10, tenths % 10))
    }
}

/// A count with its noun: `1 image`, `2 images`.
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// How long ago something was, in its largest unit: `3 min ago`.
pub fn ago(then: Timestamp) -> String {
    let seconds = Timestamp::now().duration_since(then).as_secs();
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let unit = units.into_iter().find(|(length, _)| seconds >= *length);
    match unit {
        Some((length, unit)) => format!("{} {unit} ago", seconds / length),
        None => "just now".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_well_at_every_size() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1024 * 1024 - 1, "1023.9 KiB"),
            (1024 * 1024, "1.0 MiB"),
            (344 * 1024 * 1024, "344.0 MiB"),
            (u64::MAX, "15.9 EiB"),
        ];
        for (bytes, shown) in cases {
            assert_eq!(Bytes(bytes).to_string(), shown);
        }
    }
}
