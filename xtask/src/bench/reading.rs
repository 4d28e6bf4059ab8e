//! What stands below the table: what bounds the figures.

pub(super) const READING: &str = "
";
