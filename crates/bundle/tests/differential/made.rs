//! Archives with the odd features that writers have, or could have.

use super::random::Random;

const BLOCK: usize = 512;
const NAME_FIELD: usize = 100;

/// The archive of this number.
pub(crate) fn archive(seed: u64) -> Vec<u8> {
    let mut archive = Making {
        random: Random::new(seed),
        names: Vec::new(),
        bytes: Vec::new(),
    };
    if archive.random.one_in(6) {
        archive.global_header();
    }
    for _ in 0..=archive.random.below(7) {
        archive.entry();
    }
    archive.end();
    archive.bytes
}

struct Making {
    random: Random,
    /// Given to files so far; links point at them, and later files repeat them.
    names: Vec<String>,
    bytes: Vec<u8>,
}

/// How a name that may be long is written.
#[derive(Clone, Copy)]
enum Dialect {
    Ustar,
    Pax,
    Gnu,
    /// Both, which tools disagree about.
    PaxAndGnu,
}

impl Making {
    fn entry(&mut self) {
        match self.random.below(40) {
            0..4 => self.link(b'2'),
            4..8 => self.link(b'1'),
            8..11 => self.directory(),
            11 => self.rarity(),
            _ => self.file(),
        }
    }

    fn file(&mut self) {
        let name = self.name();
        let size = self.random.pick(&[0, 1, 3, 511, 512, 513, 1024, 2500]);
        let content = self.random.bytes(size);
        let typeflag = self.random.pick(b"0000000\x007");
        let mut header = self.named(&name, typeflag);
        self.put_size(&mut header, size);
        self.write(header, &content);
        self.names.push(name);
    }

    /// A link to something that is there, mostly.
    fn link(&mut self, typeflag: u8) {
        let name = self.name();
        let mut target = match self.names.is_empty() || self.random.one_in(8) {
            true => "nowhere".to_owned(),
            false => self.random.pick(&self.names.clone()),
        };
        if typeflag == b'2' {
            let depth = name.trim_start_matches("./").matches('/').count();
            target.insert_str(0, &"../".repeat(depth));
        }
        if target.len() > NAME_FIELD || self.random.one_in(6) {
            self.long_target(&target);
        }
        let mut header = self.named(&name, typeflag);
        put_text(&mut header, 157, &target, NAME_FIELD);
        // Some writers give a hard link the size of its file.
        if self.random.one_in(10) {
            self.put_size(&mut header, BLOCK);
        }
        self.write(header, b"");
    }

    fn long_target(&mut self, target: &str) {
        match self.random.one_in(2) {
            true => self.special(b'x', &record("linkpath", target)),
            false => self.special(b'K', &terminated(target)),
        }
    }

    fn directory(&mut self) {
        let name = format!("{}/", self.name());
        let typeflag = self.random.pick(b"55\x00");
        let header = self.named(&name, typeflag);
        self.write(header, b"");
    }

    /// What bundles don't hold.
    fn rarity(&mut self) {
        let typeflag = self.random.pick(b"346SVDNx");
        let name = self.name();
        let header = self.named(&name, typeflag);
        self.write(header, b"");
    }

    fn name(&mut self) -> String {
        let known = self.names.clone();
        if !known.is_empty() && self.random.one_in(6) {
            return self.random.pick(&known);
        }
        let number = self.random.below(100);
        let long = self.random.pick(&[90, 99, 100, 101, 150, 254, 300]);
        match self.random.below(14) {
            0 => format!("./blobs/{number}"),
            1 => format!("a//b/./{number}"),
            2 => format!("é/ü-{number}"),
            3 => format!("d{number}/{}", "n".repeat(long)),
            4 => format!("{}/{number}", "deep/".repeat(long / 5)),
            5 => format!("with space {number}"),
            6 => format!("back\\slash{number}"),
            7 if number < 5 => format!("../{number}"),
            8 if number < 5 => format!("/absolute/{number}"),
            9 => format!("a=b\n{number}"),
            _ => format!("blobs/sha256/{number}"),
        }
    }

    /// A header for the name, behind what a long one needs.
    fn named(&mut self, name: &str, typeflag: u8) -> [u8; BLOCK] {
        let mut header = blank(typeflag);
        match self.dialect(name) {
            Dialect::Ustar => self.put_name(&mut header, name),
            Dialect::Pax => self.pax_name(name),
            Dialect::Gnu => self.special(b'L', &terminated(name)),
            Dialect::PaxAndGnu => {
                self.special(b'L', &terminated("another"));
                self.pax_name(name);
            }
        }
        if header.starts_with(b"\0") {
            put_text(&mut header, 0, name, NAME_FIELD);
        }
        header
    }

    fn dialect(&mut self, name: &str) -> Dialect {
        if self.random.one_in(100) {
            return Dialect::PaxAndGnu;
        }
        if name.len() <= NAME_FIELD && !self.random.one_in(4) {
            return Dialect::Ustar;
        }
        self.random
            .pick(&[Dialect::Ustar, Dialect::Pax, Dialect::Gnu, Dialect::Pax])
    }

    fn pax_name(&mut self, name: &str) {
        let mut records = vec![record("path", name)];
        for _ in 0..self.random.below(3) {
            let more = self.random.pick(&[
                ("mtime", "1700000000.25"),
                ("comment", "a\nb=c"),
                ("SCHILY.xattr.user.k", "v"),
                ("LIBARCHIVE.creationtime", "1"),
                ("uname", "näme"),
                ("path", ""),
                ("path", "elsewhere"),
            ]);
            let at = self.random.below(records.len() + 1);
            // What is about the name mostly comes once.
            if more.0 != "path" || self.random.one_in(4) {
                records.insert(at, record(more.0, more.1));
            }
        }
        self.special(b'x', &records.concat());
    }

    /// `ustar`'s two fields, where the name has a slash at the right place.
    fn put_name(&mut self, header: &mut [u8; BLOCK], name: &str) {
        const PREFIX_FIELD: usize = 155;
        let fits = |at: &usize| *at <= PREFIX_FIELD && name.len() - at - 1 <= NAME_FIELD;
        let mut slashes = name.match_indices('/').map(|(at, _)| at);
        let split = slashes.find(|at| *at > 0 && fits(at));
        match split.filter(|_| name.len() > NAME_FIELD || self.random.one_in(10)) {
            Some(at) => {
                let (prefix, base) = name.split_at(at);
                put_text(header, 345, prefix, PREFIX_FIELD);
                put_text(header, 0, base.trim_start_matches('/'), NAME_FIELD);
            }
            None => put_text(header, 0, name, NAME_FIELD),
        }
    }

    fn put_size(&mut self, header: &mut [u8; BLOCK], size: usize) {
        let field = match self.random.below(20) {
            0 => format!("{size:12o}").into_bytes(),
            1 => format!("{size:o} ").into_bytes(),
            2 => format!("{size:>10o} \0").into_bytes(),
            3 => [&[0x80, 0, 0, 0][..], &(size as u64).to_be_bytes()].concat(),
            4 => {
                self.special(b'x', &record("size", &size.to_string()));
                let lie = self.random.pick(&[0, size, 7]);
                format!("{lie:011o}\0").into_bytes()
            }
            _ => format!("{size:011o}\0").into_bytes(),
        };
        put(header, 124, &[0; 12]);
        put(header, 124, &field);
    }

    fn global_header(&mut self) {
        let about = self.random.pick(&[
            ("comment", "0123456789abcdef"),
            ("comment", "made by hand"),
            ("LIBARCHIVE.creationtime", "3"),
            ("mtime", "1"),
            ("mtime", "2"),
            ("path", "everywhere"),
            ("size", "3"),
        ]);
        self.special(b'g', &record(about.0, about.1));
    }

    fn special(&mut self, typeflag: u8, content: &[u8]) {
        let mut header = blank(typeflag);
        put_text(&mut header, 0, "././@LongLink", NAME_FIELD);
        put(
            &mut header,
            124,
            format!("{:011o}\0", content.len()).as_bytes(),
        );
        self.write(header, content);
    }

    fn write(&mut self, mut header: [u8; BLOCK], content: &[u8]) {
        let checksum = match self.random.below(8) {
            0 => format!("{:07o}\0", sum(&header)),
            1 => format!("{:6o}\0 ", sum(&header)),
            _ => format!("{:06o}\0 ", sum(&header)),
        };
        put(&mut header, 148, checksum.as_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(content);
        let padded = self.bytes.len().next_multiple_of(BLOCK);
        // Padding is zeros by habit, not by rule.
        let padding = if self.random.one_in(10) { b'p' } else { 0 };
        self.bytes.resize(padded, padding);
    }

    fn end(&mut self) {
        let blocks = self.random.pick(&[2, 2, 2, 2, 2, 3, 5, 20, 20, 20, 1, 0]);
        let end = self.bytes.len() + blocks * BLOCK;
        self.bytes.resize(end, 0);
        match self.random.below(20) {
            0 => self.bytes.extend_from_slice(b"and more"),
            1 => self.file(),
            2 => {
                let cut = self.random.below(end);
                self.bytes.truncate(cut);
            }
            _ => {}
        }
    }
}

/// A header that lacks its name and checksum.
fn blank(typeflag: u8) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    put(&mut header, 100, b"0000644\x000000000\x000000000\x00");
    put(&mut header, 124, b"00000000000\x0000000000000\0");
    put(&mut header, 156, &[typeflag]);
    put(&mut header, 257, b"ustar\x0000");
    header
}

/// The sum of a header whose checksum field counts as spaces.
fn sum(header: &[u8; BLOCK]) -> u32 {
    let mut header = *header;
    put(&mut header, 148, b"        ");
    header.iter().map(|byte| u32::from(*byte)).sum()
}

fn put(header: &mut [u8; BLOCK], at: usize, bytes: &[u8]) {
    let field = header.iter_mut().skip(at);
    field.zip(bytes).for_each(|(field, byte)| *field = *byte);
}

/// As much of `text` as the field holds.
fn put_text(header: &mut [u8; BLOCK], at: usize, text: &str, width: usize) {
    let bytes = text.as_bytes();
    put(header, at, bytes.get(..width).unwrap_or(bytes));
}

fn terminated(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"\0"].concat()
}

/// A PAX record: its length counts its own digits.
fn record(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let len = (rest.len()..)
        .find(|len| len.to_string().len() + rest.len() == *len)
        .unwrap_or_default();
    format!("{len}{rest}").into_bytes()
}
