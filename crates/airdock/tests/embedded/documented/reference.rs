//! `docs/reference.md`: what of it is made from the program. `SNAPSHOTS=overwrite` makes it anew.

use std::fmt::Write as _;
use std::path::Path;

use airdock_testkit::{Outcome, repository};
use snapbox::{Assert, Data};

use super::commands;
use super::sources::{Field, fields, source};

/// A file of the program, and the objects that it defines.
type Defined = (&'static str, &'static [&'static str]);

/// Documents, the files that define them, and the objects in them, the outermost first.
const DOCUMENTS: [(&str, &[Defined]); 11] = [
    (
        "`airdock status`, `GET /v1/status`",
        &[
            (
                "airdock/src/admin/document.rs",
                &[
                    "Status",
                    "AgentStatus",
                    "StoreStatus",
                    "SourceStatus",
                    "BundleStatus",
                    "ImageStatus",
                ],
            ),
            ("airdock/src/agent/scan.rs", &["Fingerprint"]),
        ],
    ),
    (
        "`airdock wait`",
        &[("airdock/src/cli/wait/seen.rs", &["Outcome"])],
    ),
    ("`airdock why`", &[("airdock/src/cli/why.rs", &["Answer"])]),
    (
        "`airdock doctor`, a list",
        &[("airdock/src/doctor/mod.rs", &["Finding"])],
    ),
    (
        "`airdock inspect`",
        &[
            (
                "airdock/src/output/inspect.rs",
                &["Report", "ImageReport", "LayerReport", "OtherReport"],
            ),
            ("airdock/src/output/left_out.rs", &["LeftOutReport"]),
        ],
    ),
    (
        "`airdock verify`",
        &[(
            "airdock/src/output/verify.rs",
            &[
                "Report",
                "BundleReport",
                "ImageReport",
                "FindingReport",
                "LackReport",
            ],
        )],
    ),
    (
        "`airdock load`",
        &[(
            "airdock/src/output/load.rs",
            &["Report", "ImageReport", "RefusedReport"],
        )],
    ),
    (
        "`airdock pack`, `airdock merge`",
        &[(
            "airdock/src/output/pack.rs",
            &["Report", "ImageReport", "FailedReport"],
        )],
    ),
    (
        "`airdock split`",
        &[("airdock/src/output/split.rs", &["Report", "PartReport"])],
    ),
    (
        "`airdock diff`",
        &[(
            "airdock/src/output/diff.rs",
            &["Report", "MoveReport", "BlobsReport"],
        )],
    ),
    (
        "`airdock plan`",
        &[(
            "airdock/src/output/plan.rs",
            &[
                "Report",
                "BundleReport",
                "NameReport",
                "Unplanned",
                "ConflictReport",
                "DiskReport",
            ],
        )],
    ),
];

pub(crate) fn is_current(_: &Path) -> Outcome {
    let path = repository().join("docs/reference.md");
    let written = std::fs::read_to_string(&path)?;
    let made = [
        ("commands", commands::section()),
        ("exit statuses", exits()?),
        ("documents", documents()?),
        ("events", events()?),
    ];
    let made = made
        .iter()
        .fold(written, |text, (name, made)| replaced(&text, name, made));
    let assert = Assert::new().action_env("SNAPSHOTS");
    assert.eq(made, Data::read_from(&path, None).raw());
    Ok(())
}

/// With what stands between the marks of a section replaced.
fn replaced(text: &str, name: &str, made: &str) -> String {
    let (start, end) = (format!("<!-- made: {name} -->\n"), "<!-- end -->");
    let (before, rest) = text
        .split_once(&start)
        .unwrap_or_else(|| panic!("no {start}"));
    let (_, after) = rest
        .split_once(end)
        .unwrap_or_else(|| panic!("{name} has no end"));
    format!("{before}{start}\n{made}\n{end}{after}")
}

fn exits() -> std::io::Result<String> {
    let text = source("airdock/src/exit.rs")?;
    let code = |name: &str| {
        let start = format!("Self::{name} => ");
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(start.as_str()));
        let code = line.and_then(|line| line.trim_end_matches(',').parse().ok());
        code.unwrap_or_else(|| panic!("no status of {name}"))
    };
    let exits = fields(&text, "Exit").into_iter();
    let mut exits: Vec<(u8, Field)> = exits.map(|exit| (code(&exit.name), exit)).collect();
    exits.sort_by_key(|(code, _)| *code);
    let mut table = String::from("| status | meaning |\n|---|---|\n");
    for (code, exit) in exits {
        writeln!(table, "| {code} | {} |", exit.meaning).expect("a string takes all");
    }
    Ok(table)
}

fn documents() -> std::io::Result<String> {
    let mut section = String::new();
    for (title, files) in DOCUMENTS {
        write!(section, "### {title}\n\n").expect("a string takes all");
        let mut is_outermost = true;
        for (file, objects) in files {
            let text = source(file)?;
            for object in *objects {
                if !std::mem::take(&mut is_outermost) {
                    write!(section, "{}:\n\n", word(object)).expect("a string takes all");
                }
                section.push_str(&object_table(&fields(&text, object)));
            }
        }
    }
    Ok(section.trim_end().to_owned() + "\n")
}

fn object_table(fields: &[Field]) -> String {
    let rows = fields.iter().map(|field| {
        let (name, meaning) = (&field.name, plain(&field.meaning));
        format!("| `{name}` | {} | {meaning} |\n", kind(&field.kind))
    });
    format!(
        "| key | value | meaning |\n|---|---|---|\n{}\n",
        rows.collect::<String>()
    )
}

/// Links to other items mean nothing outside of the source.
fn plain(meaning: &str) -> String {
    meaning.replace("[`VERSION`]", "1").replace('|', r"\|")
}

/// A declared type in the words of JSON.
fn kind(declared: &str) -> String {
    let within = |outer: &str| declared.strip_prefix(outer)?.strip_suffix('>');
    if let Some(inner) = within("Option<") {
        return format!("{}, or null", kind(inner));
    }
    if let Some(inner) = within("Vec<") {
        return format!("list: {}", kind(inner));
    }
    if let Some(inner) = within("BTreeMap<String, ") {
        return format!("object: {} by name", kind(inner));
    }
    match declared {
        "String" | "&'static str" | "PathBuf" | "Verdict" | "BundleState" | "Level" => {
            "string".to_owned()
        }
        "Timestamp" => "time".to_owned(),
        "bool" => "true or false".to_owned(),
        "u32" | "u64" | "usize" | "f64" => "number".to_owned(),
        object => word(object),
    }
}

/// `ImageStatus` is an *image*.
fn word(object: &str) -> String {
    let word = object.trim_end_matches("Status").trim_end_matches("Report");
    format!("*{}*", word.to_lowercase())
}

fn events() -> std::io::Result<String> {
    let text = source("airdock/src/agent/event.rs")?;
    let mut table = String::from("| `event` | meaning |\n|---|---|\n");
    for event in fields(&text, "Event") {
        let name = snake(&event.name);
        writeln!(table, "| `{name}` | {} |", event.meaning).expect("a string takes all");
    }
    Ok(table)
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}
