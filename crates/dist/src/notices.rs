//! The licences of the libraries in the program, as their packages carry them.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

/// What files with a licence or a notice start with.
const STARTS: [&str; 4] = ["license", "licence", "copying", "notice"];

/// One text: every library with its licence, then every licence text once, and whose it is.
pub fn collect() -> anyhow::Result<String> {
    let metadata = metadata()?;
    let wanted = reached(&metadata)?;
    let mut list = String::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in array(&metadata, "packages").filter(|p| wanted.contains(text(p, "id"))) {
        let who = format!("{} {}", text(package, "name"), text(package, "version"));
        list += &format!("{who}: {}\n", text(package, "license"));
        for file in files(package)? {
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            texts.entry(text).or_default().push(who.clone());
        }
    }
    for (text, whose) in texts {
        list += &format!(
            "\n{}\n{}\n\n{}\n",
            "-".repeat(72),
            whose.join(", "),
            text.trim()
        );
    }
    Ok(list)
}

fn metadata() -> anyhow::Result<Value> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../airdock/Cargo.toml");
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version=1", "--locked", "--offline"]);
    command.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
    let output = command.arg("--manifest-path").arg(manifest).output()?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The registry's packages that the program links, by id.
fn reached(metadata: &Value) -> anyhow::Result<BTreeSet<&str>> {
    let resolve = metadata.get("resolve").context("cargo resolves nothing")?;
    let nodes: BTreeMap<&str, &Value> = array(resolve, "nodes")
        .map(|node| (text(node, "id"), node))
        .collect();
    let mut seen = BTreeSet::new();
    let mut next = vec![text(resolve, "root")];
    while let Some(id) = next.pop() {
        if seen.insert(id)
            && let Some(node) = nodes.get(id)
        {
            next.extend(
                array(node, "deps")
                    .filter(|dep| is_linked(dep))
                    .map(|dep| text(dep, "pkg")),
            );
        }
    }
    seen.retain(|id| id.starts_with("registry+"));
    Ok(seen)
}

/// Neither a test's nor a build script's.
fn is_linked(dependency: &Value) -> bool {
    array(dependency, "dep_kinds").any(|kind| kind.get("kind").is_some_and(Value::is_null))
}

/// The files with its licence beside a package's manifest.
fn files(package: &Value) -> anyhow::Result<BTreeSet<PathBuf>> {
    let manifest = Path::new(text(package, "manifest_path"));
    let folder = manifest.parent().context("a manifest is in a folder")?;
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        if path.is_file() && STARTS.iter().any(|start| name.starts_with(start)) {
            files.insert(path);
        }
    }
    Ok(files)
}

fn array<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
