//! What could stand in airdock's way on this node, checked one by one, each with the way to mend
//! it. Nothing is changed.

mod agent;
mod directory;
mod node;
mod store;

use serde::Serialize;

use crate::config::Settings;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works, with a limitation that one should know of.
    Warning,
    /// It doesn't work.
    Error,
}

impl Level {
    /// The word used in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One check.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What was checked.
    pub check: &'static str,
    /// How it came out.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub mend: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            level: Level::Ok,
            found: found.into(),
            mend: None,
        }
    }

    fn warning(check: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            check,
            level: Level::Warning,
            found: found.into(),
            mend: Some(mend.into()),
        }
    }

    fn error(check: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            ..Self::warning(check, found, mend)
        }
    }
}

/// Checks everything, of the settings that the agent would have.
pub async fn examine(settings: &Settings) -> Vec<Finding> {
    let mut findings = vec![agent::examine(&settings.socket.path).await];
    findings.push(node::user());
    findings.extend(store::examine(settings).await);
    for source in &settings.watch.sources {
        findings.extend(directory::examine(source));
    }
    findings.extend(node::examine());
    findings
}
