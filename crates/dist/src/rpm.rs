//! An RPM package.

use rpm::{BuildConfig, CompressionWithLevel, Dependency, FileOptions, PackageBuilder};

use crate::content::{self, Family, File, Kind};
use crate::release::{DESCRIPTION, MAINTAINER, Release, SUMMARY};

/// The best that gzip can.
const LEVEL: u32 = 9;

/// The package.
pub fn pack(release: &Release) -> anyhow::Result<Vec<u8>> {
    let content = content::installed(release, Family::Rpm)?;
    let mut package = about(release);
    for directory in content.directories {
        package.with_dir_entry(FileOptions::dir(format!("/{directory}")).permissions(0o755))?;
    }
    for file in &content.files {
        package.with_file_contents(file.bytes.clone(), options(file))?;
    }
    let mut bytes = Vec::new();
    package.build()?.write(&mut bytes)?;
    Ok(bytes)
}

fn about(release: &Release) -> PackageBuilder {
    let (version, machine) = (&release.version, release.machine.rpm());
    let mut package = PackageBuilder::new("airdock", version, "Apache-2.0", machine, SUMMARY);
    package
        .using_config(
            BuildConfig::v4()
                .compression(CompressionWithLevel::Gzip(LEVEL))
                .source_date(release.time),
        )
        .release("1")
        .description(DESCRIPTION)
        .packager(MAINTAINER)
        .build_host("localhost")
        .requires(Dependency::any("/bin/sh"))
        .post_install_script(include_str!("../scripts/rpm-post.sh"))
        .pre_uninstall_script(include_str!("../scripts/rpm-preun.sh"))
        .post_uninstall_script(include_str!("../scripts/rpm-postun.sh"));
    package
}

fn options(file: &File) -> FileOptions {
    let options = FileOptions::new(format!("/{}", file.path)).permissions(file.mode);
    match file.kind {
        Kind::Plain => options.into(),
        Kind::Settings => options.config().noreplace().into(),
        Kind::Documentation => options.doc().into(),
    }
}
