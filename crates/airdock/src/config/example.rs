//! The annotated example file, made from the keys and their defaults.

use super::ConfigError;
use super::file::{Layer, LogTable, SourceTable, Written};
use super::key::Key;
use super::typed::Typed;

const HEAD: &str = "\
# Settings of airdock. The agent reads them when it starts, and again on SIGHUP
# (`systemctl reload airdock`); `airdock config check` says whether they can be used, and
# `airdock config show` what is in force. A flag or an environment variable wins over this file.
#
# Every key is shown with its default, behind a `#`.
";

/// Keys whose default depends on the machine, and what they may look like.
const SAMPLES: [(&str, &str); 5] = [
    ("store", "\"containerd:/run/containerd/containerd.sock\""),
    ("distro", "\"k0s\""),
    ("platform", "\"linux/arm64\""),
    ("socket_group", "\"airdock\""),
    ("metrics", "\"127.0.0.1:9464\""),
];

/// The example, as it is shipped.
pub fn example() -> Result<String, ConfigError> {
    let settings = super::resolve(&Typed::default(), &Written::default())?;
    let layer = Layer::from(&settings);
    let defaults = toml::Table::try_from(&layer).unwrap_or_default();
    let mut text = HEAD.to_owned();
    for key in Layer::KEYS {
        match defaults.get(key.name) {
            Some(toml::Value::Table(log)) => {
                add_table(&mut text, key, "[log]", LogTable::KEYS, log);
            }
            Some(toml::Value::Array(sources)) if key.name == "source" => {
                let source = sources.first().and_then(toml::Value::as_table);
                let source = source.cloned().unwrap_or_default();
                add_table(&mut text, key, "[[source]]", SourceTable::KEYS, &source);
            }
            default => add_key(&mut text, key, default),
        }
    }
    Ok(text)
}

fn add_table(text: &mut String, key: &Key, head: &str, keys: &[Key], defaults: &toml::Table) {
    add_meaning(text, key);
    text.push_str(&format!("#{head}\n"));
    for key in keys {
        add_key(text, key, defaults.get(key.name));
    }
}

fn add_key(text: &mut String, key: &Key, default: Option<&toml::Value>) {
    add_meaning(text, key);
    let sample = SAMPLES.iter().find(|(name, _)| *name == key.name);
    match (sample, default) {
        (Some((name, sample)), _) => text.push_str(&format!("# For example: {name} = {sample}\n")),
        (None, Some(value)) => text.push_str(&format!("#{} = {value}\n", key.name)),
        (None, None) => {}
    }
}

fn add_meaning(text: &mut String, key: &Key) {
    text.push('\n');
    for line in key.meaning {
        text.push_str(&format!("#{line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const COMMITTED: &str = include_str!("../../../../contrib/airdock.toml");

    #[test]
    fn the_committed_example_is_what_the_keys_say() {
        let hint = "write it anew: airdock config example > contrib/airdock.toml";
        assert_eq!(COMMITTED, example().unwrap(), "{hint}");
    }

    #[test]
    fn the_example_says_nothing_until_a_line_is_taken_out_of_its_comment() {
        let written = Written::parse(Path::new("example"), COMMITTED).unwrap();
        assert_eq!(written.layer, Layer::default());
    }

    #[test]
    fn every_value_of_the_example_is_the_default() {
        let is_setting = |line: &&str| !line.starts_with("# ") && *line != "#";
        let lines = COMMITTED.lines().filter(is_setting);
        let text: Vec<&str> = lines.map(|line| line.trim_start_matches('#')).collect();
        let written = Written::parse(Path::new("example"), &text.join("\n")).unwrap();
        assert_eq!(written.unknown, []);
        let resolved = |written: &Written| {
            let mut settings = super::super::resolve(&Typed::default(), written).unwrap();
            settings.origins.clear();
            settings.socket.asked_for = false;
            format!("{settings:?}")
        };
        assert_eq!(resolved(&written), resolved(&Written::default()));
        assert_eq!(text.iter().filter(|line| line.contains('=')).count(), 20);
    }
}
