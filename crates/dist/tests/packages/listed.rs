//! What the packages hold, as Debian's, RPM's and everybody's tools list it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use airdock_testkit::{Need, Outcome, Suite};

use crate::support::{listed, read, written};

/// What both package managers put on a node, beside manuals.
const INSTALLED: [&str; 12] = [
    "drwxr-xr-x /var/lib/airdock",
    "drwxr-xr-x /var/lib/airdock/bundles",
    "-rwxr-xr-x /usr/bin/airdock",
    "-rw-r--r-- /etc/airdock/airdock.toml",
    "-rw-r--r-- /usr/lib/systemd/system/airdock.service",
    "-rw-r--r-- /usr/share/bash-completion/completions/airdock",
    "-rw-r--r-- /usr/share/doc/airdock/README.md",
    "-rw-r--r-- /usr/share/doc/airdock/THIRD-PARTY.gz",
    "-rw-r--r-- /usr/share/doc/airdock/docs/troubleshooting.md",
    "-rw-r--r-- /usr/share/doc/airdock/systemd/k0s.conf",
    "-rw-r--r-- /usr/share/fish/vendor_completions.d/airdock.fish",
    "-rw-r--r-- /usr/share/man/man1/airdock-watch.1.gz",
];

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "the_deb_holds_what_a_node_needs",
            &[Need::Program("dpkg-deb")],
            deb,
        )
        .test("the_rpm_holds_what_a_node_needs", &[], rpm)
        .test(
            "rpm_itself_lists_the_rpm",
            &[Need::Program("rpm")],
            rpm_itself,
        )
        .test(
            "lintian_has_nothing_to_say",
            &[Need::Program("lintian")],
            lintian,
        )
        .test(
            "the_tar_is_one_folder_with_its_checksum",
            &[Need::Program("sha256sum")],
            tar,
        )
        .test("what_the_readme_links_to_is_packed_with_it", &[], guides)
        .test("the_same_is_packed_as_the_same_bytes", &[], same)
        .test("every_command_has_a_manual", &[], manuals)
        .test("bash_reads_its_completions", &[Need::Program("bash")], bash)
}

fn assert_lists(list: &BTreeSet<String>, wanted: &[&str]) {
    for line in wanted {
        assert!(list.contains(*line), "{line} is not in {list:#?}");
    }
}

fn deb(dir: &Path) -> Outcome {
    let deb = written(&listed(), dir, ".deb")?;
    let contents = read(Command::new("dpkg-deb").arg("--contents").arg(&deb))?;
    let list = contents.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[1], "root/root", "{line}");
        format!(
            "{} {}",
            words[0],
            words[5].trim_start_matches('.').trim_end_matches('/')
        )
    });
    let list = list.collect();
    assert_lists(&list, &INSTALLED);
    assert_lists(&list, &["-rw-r--r-- /usr/share/doc/airdock/copyright"]);
    let field = |name: &str| read(Command::new("dpkg-deb").arg("--field").arg(&deb).arg(name));
    assert_eq!(field("Package")?, "airdock\n");
    assert_eq!(field("Version")?, concat!(env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(field("Architecture")?, "amd64\n");
    let conffiles = read(
        Command::new("dpkg-deb")
            .arg("--info")
            .arg(&deb)
            .arg("conffiles"),
    )?;
    assert_eq!(conffiles, "/etc/airdock/airdock.toml\n");
    Ok(())
}

fn rpm(dir: &Path) -> Outcome {
    let package = rpm::Package::open(written(&listed(), dir, ".rpm")?)?;
    package.verify_digests()?;
    let metadata = &package.metadata;
    assert_eq!(metadata.get_arch()?, "x86_64");
    let files = metadata.get_file_entries()?;
    let kind = |entry: &rpm::FileEntry| match entry.mode().file_type() {
        rpm::FileType::Dir => 'd',
        _ => '-',
    };
    let list: BTreeSet<String> = files
        .iter()
        .map(|entry| {
            let bits = letters(entry.mode().permissions());
            format!("{}{bits} {}", kind(entry), entry.path().display())
        })
        .collect();
    assert_lists(&list, &INSTALLED);
    assert_lists(&list, &["-rw-r--r-- /usr/share/licenses/airdock/LICENSE"]);
    Ok(())
}

/// As `ls -l` writes them.
fn letters(mode: u16) -> String {
    let bits = (0..9).rev().zip("rwxrwxrwx".chars());
    bits.map(|(bit, letter)| if mode >> bit & 1 == 1 { letter } else { '-' })
        .collect()
}

fn rpm_itself(dir: &Path) -> Outcome {
    let package = written(&listed(), dir, ".rpm")?;
    let rpm = |query: &[&str]| {
        let database = format!("--dbpath={}", dir.join("rpmdb").display());
        read(Command::new("rpm").arg(database).args(query).arg(&package))
    };
    let list = rpm(&["--query", "--list", "--package"])?;
    for line in INSTALLED {
        let path = line.split(' ').nth(1).expect("mode and path");
        assert!(
            list.lines().any(|listed| listed == path),
            "{path} is not in {list}"
        );
    }
    assert_eq!(
        rpm(&["--query", "--configfiles", "--package"])?,
        "/etc/airdock/airdock.toml\n"
    );
    assert!(rpm(&["--query", "--requires", "--package"])?.contains("/bin/sh"));
    rpm(&["--checksig", "--nosignature"])?;
    Ok(())
}

/// Errors and warnings fail; what is left out is said with its reason.
fn lintian(dir: &Path) -> Outcome {
    let unwanted = [
        // There is no archive that it is made for, hence neither a bug that asks for it nor a
        // reachable maintainer.
        "initial-upload-closes-no-bugs",
        "bogus-mail-host",
        "bogus-mail-host-in-debian-changelog",
        // The program here is a few bytes.
        "unstripped-binary-or-object",
        "binary-with-bad-dynamic-table",
        "statically-linked-binary",
        // Debian's own helper isn't there on every system that dpkg is on.
        "maintainer-script-calls-systemctl",
    ];
    let deb = written(&listed(), dir, ".deb")?;
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--fail-on=error,warning"]);
    lintian.arg(format!("--suppress-tags={}", unwanted.join(",")));
    read(lintian.arg(deb)).map(drop)?;
    Ok(())
}

fn tar(dir: &Path) -> Outcome {
    let tar = written(&listed(), dir, ".tar.gz")?;
    let name = tar
        .file_name()
        .expect("it has a name")
        .to_string_lossy()
        .into_owned();
    let mut sums = Command::new("sha256sum");
    read(
        sums.args(["--check", "--strict"])
            .arg(format!("{name}.sha256"))
            .current_dir(dir),
    )?;
    read(Command::new("tar").arg("-xzf").arg(&tar).current_dir(dir))?;
    let top = dir.join(name.trim_end_matches(".tar.gz"));
    for file in [
        "LICENSE",
        "README.md",
        "THIRD-PARTY",
        "completions/_airdock",
        "docs/troubleshooting.md",
        "man/airdock.1",
        "systemd/airdock.service",
        "systemd/airdock.service.d/k3s.conf",
    ] {
        assert!(fs::metadata(top.join(file))?.len() > 0, "{file}");
    }
    assert_eq!(fs::read(top.join("airdock"))?, listed().program);
    Ok(())
}

fn guides(_: &Path) -> Outcome {
    let docs = airdock_testkit::repository().join("docs");
    let content = airdock_dist::content::unpacked(&listed())?;
    for entry in fs::read_dir(docs)? {
        let name = format!("docs/{}", entry?.file_name().to_string_lossy());
        let is_packed = content.files.iter().any(|file| file.path == name);
        assert!(is_packed || name == "docs/benchmarks.md", "{name}");
    }
    Ok(())
}

fn same(_: &Path) -> Outcome {
    let (one, two) = (listed().packages()?, listed().packages()?);
    assert!(one == two, "packages differ from run to run");
    assert_eq!(one.len(), 6);
    Ok(())
}

fn manuals(_: &Path) -> Outcome {
    let pages = airdock_dist::pages::manuals()?;
    for command in airdock::cli::command().get_subcommands() {
        let name = format!("airdock-{}.1", command.get_name());
        let page = pages.iter().find(|page| page.name == name);
        let page = page.unwrap_or_else(|| panic!("no {name}"));
        let text = String::from_utf8_lossy(&page.bytes);
        assert!(text.contains(".SH OPTIONS"), "{name}: {text}");
    }
    Ok(())
}

fn bash(dir: &Path) -> Outcome {
    let pages = airdock_dist::pages::completions();
    let page = pages.iter().find(|page| page.name.ends_with(".bash"));
    let script = dir.join("completions.sh");
    fs::write(&script, &page.expect("bash has completions").bytes)?;
    let ask = format!(
        "source {}; COMP_WORDS=(airdock insp); COMP_CWORD=1; _airdock airdock insp airdock; \
         echo \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    assert_eq!(read(Command::new("bash").args(["-c", &ask]))?, "inspect\n");
    Ok(())
}
