//! Snapshots of what is printed: files beside these tests, with what differs from run to run
//! replaced. `SNAPSHOTS=overwrite` writes them anew.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use airdock_testkit::{repository, wait};
use regex::{Captures, Regex};
use snapbox::{Assert, Data};

const VARIABLE: &str = "SNAPSHOTS";

/// Longer than the first retries take on a loaded machine.
const SETTLED: Duration = Duration::from_secs(20);

/// What differs from run to run, and what stands for it. Earlier rules win.
const RULES: [(&str, &str); 15] = [
    (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "[TIME]"),
    (r"just now|\d+ (s|min|h|d) ago", "[AGO]"),
    (r"\bpid \d+", "pid [PID]"),
    (r#""pid": \d+"#, r#""pid": [PID]"#),
    (r#""(device|inode|resyncs|free)": \d+"#, r#""$1": [N]"#),
    (
        r#""retry_seconds": [0-9.]+"#,
        r#""retry_seconds": [SECONDS]"#,
    ),
    (r#""id": "[0-9a-f]+""#, r#""id": "[ID]""#),
    (r"again in \d+ s", "again in [SECONDS] s"),
    (r"[0-9.]+ [KMGT]iB (are )?free", "[SIZE] ${1}free"),
    // containerd 1.6 tells the folder of its blobs, later releases the one above.
    (r"\[HOME\]/root[\w./]*", "[HOME]/root"),
    (r"(fs\.inotify\.\w+) = \d+", "$1 = [N]"),
    (r"containerd v?\d+\.\d+\.\d+\S*", "containerd [VERSION]"),
    (r"airdock \d+\.\d+\.\d+", "airdock [VERSION]"),
    (r#""version": "\d+\.\d+\.\d+""#, r#""version": "[VERSION]""#),
    // Columns are as wide as a temporary path is long.
    (r"(\S)  +", "$1  "),
];

static COMPILED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let compile = |(rule, with)| (Regex::new(rule).expect("rules are sound"), with);
    RULES.into_iter().map(compile).collect()
});

static DIGEST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("sha256:([0-9a-f]{12})[0-9a-f]*").expect("it is sound"));

/// Compares text with a snapshot; `places` are paths of this run, and what stands for them.
#[track_caller]
pub(crate) fn compare(name: &str, text: &str, places: &[(&Path, &str)]) {
    let assert = Assert::new().action_env(VARIABLE);
    assert.eq(stable(text, places), snapshot(name));
}

/// The same for what an agent says: it may be on its way to what it is expected to say, or be
/// trying again what failed.
#[track_caller]
pub(crate) fn becomes(name: &str, places: &[(&Path, &str)], mut say: impl FnMut() -> String) {
    let expected = snapshot(name).render().unwrap_or_default();
    let is_new = std::env::var_os(VARIABLE).is_some();
    let mut last = String::new();
    // In the end it is compared, which tells the difference.
    let _ = wait::until(name, SETTLED, || {
        last = say();
        (is_new || stable(&last, places) == expected).then_some(())
    });
    compare(name, &last, places);
}

fn snapshot(name: &str) -> Data {
    let folder = repository().join("crates/airdock/tests/containerd/snapshots");
    Data::read_from(&folder.join(format!("{name}.txt")), None).raw()
}

fn stable(text: &str, places: &[(&Path, &str)]) -> String {
    let replaced = places.iter().fold(text.to_owned(), |text, (path, word)| {
        text.replace(path.to_str().expect("a path of these tests is UTF-8"), word)
    });
    let numbered = numbered(&replaced);
    let rules = COMPILED.iter();
    rules.fold(numbered, |text, (rule, with)| {
        rule.replace_all(&text, *with).into_owned()
    })
}

/// Digests in the order in which they come: which are the same is told, which they are isn't.
fn numbered(text: &str) -> String {
    let mut seen: Vec<String> = Vec::new();
    let number = |found: &Captures<'_>| {
        let start = &found[1];
        let place = seen.iter().position(|known| known == start);
        let place = place.unwrap_or_else(|| {
            seen.push(start.to_owned());
            seen.len() - 1
        });
        format!("sha256:[{}]", place + 1)
    };
    DIGEST.replace_all(text, number).into_owned()
}
