//! Tars: everything root's, one time, parents before what is in them.

use std::collections::BTreeSet;
use std::path::Path;

use tar::{Builder, EntryType, Header};

use crate::compress::gzip;
use crate::content::Content;

const DIRECTORY_MODE: u32 = 0o755;

/// A compressed tar of the content, below `top` if there is one, else below `./` as dpkg wants it.
pub fn pack(content: &Content, top: Option<&str>, time: u32) -> anyhow::Result<Vec<u8>> {
    let mut tar = Builder::new(Vec::new());
    let under = |path: &str| match top {
        Some(top) => format!("{top}/{path}"),
        None => format!("./{path}"),
    };
    let root = directory_header(time)?;
    append(&mut tar, root, &under(""), &[])?;
    for path in directories(content) {
        append(
            &mut tar,
            directory_header(time)?,
            &format!("{}/", under(&path)),
            &[],
        )?;
    }
    for file in &content.files {
        let mut header = header(EntryType::Regular, u32::from(file.mode), time)?;
        header.set_size(u64::try_from(file.bytes.len())?);
        append(&mut tar, header, &under(&file.path), &file.bytes)?;
    }
    Ok(gzip(&tar.into_inner()?)?)
}

/// Those that shall exist, and those that the files are in.
fn directories(content: &Content) -> BTreeSet<String> {
    let files = content.files.iter().map(|file| Path::new(&file.path));
    let named = content.directories.iter().map(|path| path.to_string());
    files
        .flat_map(|path| path.ancestors().skip(1))
        .map(|path| path.to_string_lossy().into_owned())
        .chain(content.directories.iter().flat_map(|path| parents(path)))
        .chain(named)
        .filter(|path| !path.is_empty())
        .collect()
}

fn parents(path: &str) -> impl Iterator<Item = String> {
    let above = Path::new(path).ancestors().skip(1);
    above.map(|path| path.to_string_lossy().into_owned())
}

fn directory_header(time: u32) -> anyhow::Result<Header> {
    header(EntryType::Directory, DIRECTORY_MODE, time)
}

fn header(kind: EntryType, mode: u32, time: u32) -> anyhow::Result<Header> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_username("root")?;
    header.set_groupname("root")?;
    header.set_mtime(u64::from(time));
    header.set_size(0);
    Ok(header)
}

/// The path as it is: the library's own setter would take `./` off.
fn append(
    tar: &mut Builder<Vec<u8>>,
    mut header: Header,
    path: &str,
    bytes: &[u8],
) -> anyhow::Result<()> {
    let field = &mut header.as_old_mut().name;
    let name = field.get_mut(..path.len());
    let name = name.ok_or_else(|| anyhow::anyhow!("{path}: too long for a tar header"))?;
    name.copy_from_slice(path.as_bytes());
    header.set_cksum();
    Ok(tar.append(&header, bytes)?)
}
