//! A Debian package (`deb(5)`): an `ar` of a version, a tar about the package, and its files.

use std::fmt::Write as _;

use jiff::Timestamp;
use md5::{Digest as _, Md5};

use crate::archive;
use crate::content::{self, Content, Family, File, Kind};
use crate::release::{DESCRIPTION, MAINTAINER, Release, SUMMARY, hex};

/// Scripts that dpkg runs, by name.
const SCRIPTS: [(&str, &str); 3] = [
    ("postinst", include_str!("../scripts/deb-postinst.sh")),
    ("postrm", include_str!("../scripts/deb-postrm.sh")),
    ("prerm", include_str!("../scripts/deb-prerm.sh")),
];

/// The package.
pub fn pack(release: &Release) -> anyhow::Result<Vec<u8>> {
    let content = content::installed(release, Family::Debian)?;
    let about = about(release, &content);
    let mut ar = b"!<arch>\n".to_vec();
    member(&mut ar, "debian-binary", b"2.0\n", release.time);
    let tar = archive::pack(&about, None, release.time)?;
    member(&mut ar, "control.tar.gz", &tar, release.time);
    let tar = archive::pack(&content, None, release.time)?;
    member(&mut ar, "data.tar.gz", &tar, release.time);
    Ok(ar)
}

/// A member of an `ar`: a header of 60 bytes, and the bytes made even.
fn member(ar: &mut Vec<u8>, name: &str, bytes: &[u8], time: u32) {
    let len = bytes.len();
    let header = format!(
        "{name:<16}{time:<12}{:<6}{:<6}{:<8}{len:<10}`\n",
        0, 0, "100644"
    );
    ar.extend(header.as_bytes());
    ar.extend(bytes);
    ar.extend((len % 2 == 1).then_some(b'\n'));
}

/// What dpkg reads of the package.
fn about(release: &Release, content: &Content) -> Content {
    let file = |path: &str, mode, text: String| File {
        path: path.to_owned(),
        mode,
        kind: Kind::Plain,
        bytes: text.into_bytes(),
    };
    let mut files = vec![
        file("control", 0o644, control(release, content)),
        file("conffiles", 0o644, settings(content)),
        file("md5sums", 0o644, sums(content)),
    ];
    files.extend(SCRIPTS.map(|(name, text)| file(name, 0o755, text.to_owned())));
    Content {
        directories: Vec::new(),
        files,
    }
}

fn control(release: &Release, content: &Content) -> String {
    let bytes: usize = content.files.iter().map(|file| file.bytes.len()).sum();
    let (version, machine) = (&release.version, release.machine.debian());
    let description = DESCRIPTION.replace('\n', "\n ");
    format!(
        "Package: airdock\nVersion: {version}\nArchitecture: {machine}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {}\nSection: admin\nPriority: optional\n\
         Description: {SUMMARY}\n {description}\n",
        bytes.div_ceil(1024)
    )
}

fn settings(content: &Content) -> String {
    let settings = content
        .files
        .iter()
        .filter(|file| file.kind == Kind::Settings);
    settings.map(|file| format!("/{}\n", file.path)).collect()
}

fn sums(content: &Content) -> String {
    let mut sums = String::new();
    for file in content
        .files
        .iter()
        .filter(|file| file.kind != Kind::Settings)
    {
        // Writing to a string doesn't fail.
        let _ = writeln!(sums, "{}  {}", hex(&Md5::digest(&file.bytes)), file.path);
    }
    sums
}

/// One entry: this version.
pub(crate) fn changelog(release: &Release) -> anyhow::Result<String> {
    let date = Timestamp::from_second(i64::from(release.time))?;
    let date = date.strftime("%a, %d %b %Y %H:%M:%S +0000");
    Ok(format!(
        "airdock ({}) unstable; urgency=medium\n\n  * Release {}.\n\n -- {MAINTAINER}  {date}\n",
        release.version, release.version
    ))
}
