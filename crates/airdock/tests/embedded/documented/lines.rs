//! Command lines in the documents: each is understood by the program's own parser, and blocks that
//! are marked with `run` are run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use airdock_testkit::process::Running;
use airdock_testkit::{Outcome, repository};
use clap::error::ErrorKind;

use crate::support::{AIRDOCK, DEADLINE, text, watch};

/// A fenced block.
#[derive(Debug)]
struct Block {
    document: PathBuf,
    /// What stands behind the fence: the language, then `run` or `run=STATUS`.
    info: Vec<String>,
    lines: Vec<String>,
}

impl Block {
    /// What a person would type.
    fn commands(&self) -> Vec<&str> {
        let language = self.info.first().map(String::as_str);
        let lines = self.lines.iter().map(String::as_str);
        match language {
            Some("sh") => lines.collect(),
            Some("console") => lines
                .filter_map(|line| line.strip_prefix("$ ").or(line.strip_prefix("# ")))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The status that it must end with, where it is to be run.
    fn status(&self) -> Option<i32> {
        let run = self.info.iter().find_map(|word| word.strip_prefix("run"))?;
        run.strip_prefix('=')
            .map_or(Some(0), |status| status.parse().ok())
    }
}

/// Every document that people read.
fn documents() -> io::Result<Vec<PathBuf>> {
    let mut documents = vec![
        "README.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "examples/README.md",
    ]
    .into_iter()
    .map(|name| repository().join(name))
    .collect::<Vec<_>>();
    for entry in fs::read_dir(repository().join("docs"))? {
        documents.push(entry?.path());
    }
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    Ok(documents)
}

fn blocks() -> io::Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for document in documents()? {
        let text = fs::read_to_string(&document)?;
        let mut open: Option<Block> = None;
        for line in text.lines() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(info), None) => {
                    open = Some(Block {
                        document: document.clone(),
                        info: info.split_whitespace().map(str::to_owned).collect(),
                        lines: Vec::new(),
                    });
                }
                (None, Some(block)) => block.lines.push(line.to_owned()),
                (None, None) => {}
            }
        }
    }
    Ok(blocks)
}

pub(crate) fn are_understood(_: &Path) -> Outcome {
    let mut understood = 0;
    for block in blocks()? {
        for line in block.commands() {
            for words in calls(line) {
                let parsed = airdock::cli::command().try_get_matches_from(&words);
                if let Err(error) = parsed {
                    let is_help =
                        [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion].contains(&error.kind());
                    assert!(is_help, "{}: {line}\n{error}", block.document.display());
                }
                understood += 1;
            }
        }
    }
    assert!(understood > 20, "{understood}");
    Ok(())
}

/// The calls of the program in a line, each as words.
fn calls(line: &str) -> Vec<Vec<String>> {
    let line = line.replace("cargo run --release --", "airdock");
    let line = line.split("  #").next().unwrap_or_default();
    let parts = line.split(['|', '&', ';']).map(str::trim);
    let ours = parts.filter_map(|part| {
        let start = part.find("airdock ")?;
        let before = part[..start].split_whitespace();
        // `sudo airdock`, `if airdock`, `FOO=bar airdock`, but not `systemctl start airdock `.
        let leads = before
            .clone()
            .all(|word| ["sudo", "if", "!"].contains(&word) || word.contains('='));
        leads.then(|| &part[start..])
    });
    ours.map(words).collect()
}

/// Words as a shell splits them; what is redirected is no argument.
fn words(call: &str) -> Vec<String> {
    let call = call.split([')', '>', '<']).next().unwrap_or_default();
    let words = call.split_whitespace();
    words
        .map(|word| word.trim_matches(['\'', '"']).to_owned())
        .collect()
}

/// A node with an agent, as far as a folder can be one.
struct Node<'a> {
    dir: &'a Path,
    agent: Running,
}

impl<'a> Node<'a> {
    fn start(dir: &'a Path) -> io::Result<Self> {
        for folder in ["bundles", "etc", "here/examples"] {
            fs::create_dir_all(dir.join(folder))?;
        }
        let (examples, here) = (repository().join("examples"), dir.join("here"));
        for bundle in ["hello.tar", "pod.tar"] {
            fs::copy(examples.join(bundle), here.join("examples").join(bundle))?;
        }
        for name in [
            "bundle.tar",
            "images.tar",
            "airgap-images.tar.zst",
            "upgrade.tar.zst",
        ] {
            fs::copy(examples.join("pod.tar"), here.join(name))?;
        }
        fs::write(here.join("names.txt"), "registry.example.com/other:1\n")?;
        let mut agent = watch(dir, &[]);
        agent.wait_for_line(&["the store answers"], DEADLINE)?;
        Ok(Self { dir, agent })
    }

    /// A node's paths are folders here.
    fn here(&self, script: &str) -> String {
        let bundles = self.dir.join("bundles");
        let directories = [
            "/var/lib/airdock/bundles",
            "/var/lib/k0s/images",
            "/var/lib/rancher/k3s/agent/images",
            "/var/lib/rancher/rke2/agent/images",
        ];
        let script = script.replace("cargo run --release --", "airdock");
        let script = directories
            .iter()
            .fold(script, |script, path| script.replace(path, text(&bundles)));
        script.replace("/etc/airdock", text(&self.dir.join("etc")))
    }

    fn run(&self, block: &Block) -> Outcome {
        let commands = block.commands();
        let commands = commands.iter().filter(|line| !line.starts_with("alias "));
        let script: String = commands.map(|line| format!("{line}\n")).collect();
        let script = self.here(&script);
        let programs = Path::new(AIRDOCK)
            .parent()
            .expect("a program is in a folder");
        let path = format!("{}:{}", text(programs), std::env::var("PATH")?);
        let mut bash = Command::new("bash");
        bash.args(["-eu", "-o", "pipefail", "-c", &script])
            .current_dir(self.dir.join("here"))
            .env("PATH", path)
            .env("AIRDOCK_SOCKET", self.dir.join("state/airdock.sock"))
            .env("AIRDOCK_STORE", crate::support::store_of(self.dir));
        let mut bash = Running::spawn(&mut bash)?;
        let ended = bash.wait(DEADLINE)?;
        let document = block.document.display();
        let said = (bash.stdout(), bash.stderr());
        assert_eq!(
            ended.code(),
            block.status(),
            "{document}: {script}\n{said:?}\n{}",
            self.agent.stderr()
        );
        Ok(())
    }
}

pub(crate) fn run(dir: &Path) -> Outcome {
    let blocks = blocks()?;
    let marked: Vec<&Block> = blocks
        .iter()
        .filter(|block| block.status().is_some())
        .collect();
    assert!(marked.len() >= 5, "{}", marked.len());
    let node = Node::start(dir)?;
    marked.into_iter().try_for_each(|block| node.run(block))
}

pub(crate) fn lead_somewhere(_: &Path) -> Outcome {
    for document in documents()? {
        let text = fs::read_to_string(&document)?;
        let folder = document.parent().expect("a document is in a folder");
        for rest in text.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if target.starts_with("http") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() {
                document.clone()
            } else {
                folder.join(path)
            };
            assert!(path.exists(), "{}: {target}", document.display());
            if !anchor.is_empty() {
                let headings = fs::read_to_string(&path)?;
                let mut anchors = headings
                    .lines()
                    .filter(|line| line.starts_with('#'))
                    .map(anchor_of);
                assert!(
                    anchors.any(|known| known == anchor),
                    "{}: {target}",
                    document.display()
                );
            }
        }
    }
    Ok(())
}

/// As forges make them: lower case, words joined by hyphens, nothing else.
fn anchor_of(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
