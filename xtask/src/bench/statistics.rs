//! Figures from repeated runs.

use std::time::Duration;

/// The smallest value that at least `percent` of all reach; zero of nothing.
pub(super) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// The middle value; of an even number, the mean of the two in the middle.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let lower = sorted.get(sorted.len().saturating_sub(1) / 2).copied();
    f64::midpoint(lower.unwrap_or_default(), upper)
}

/// `1.20 s (1.10–1.90)`: median, least and most.
pub(super) fn seconds(times: &[Duration]) -> String {
    let values: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    let (least, most) = (percentile(&values, 0), percentile(&values, 100));
    let digits = if most < 0.1 { 3 } else { 2 };
    format!(
        "{:.digits$} s ({least:.digits$}–{most:.digits$})",
        median(&values)
    )
}

/// `340 MiB`.
pub(super) fn mebibytes(bytes: u64) -> String {
    let kib = bytes >> 10;
    match kib {
        0..1024 => format!("{kib} KiB"),
        1024..10_240 => format!("{}.{} MiB", kib >> 10, (kib & 1023) * 10 / 1024),
        _ => format!("{} MiB", kib >> 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_ends_are_found_in_any_order() {
        let values = [3.0, 1.0, 2.0, 10.0];
        assert!((median(&values) - 2.5).abs() < 1e-9);
        assert!((median(&values[..3]) - 2.0).abs() < 1e-9);
        for (percent, expected) in [(0, 1.0), (50, 2.0), (99, 10.0), (100, 10.0)] {
            let found = percentile(&values, percent);
            assert!((found - expected).abs() < 1e-9, "{percent}: {found}");
        }
    }

    #[test]
    fn sizes_are_shown_with_two_digits_at_least() {
        assert_eq!(mebibytes(1 << 20), "1.0 MiB");
        assert_eq!(mebibytes(10 << 10), "10 KiB");
        assert_eq!(mebibytes(344 << 20), "344 MiB");
    }
}
