//! What a program's own header says of it (`elf(5)`; 64 bits, little-endian).

use anyhow::{Context as _, bail};

/// `ET_DYN`: it may be loaded anywhere.
const POSITION_INDEPENDENT: usize = 3;

/// `PT_INTERP`: the path of a dynamic loader.
const INTERPRETER: usize = 3;

/// The processor that a program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86-64.
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

impl Machine {
    /// What an ELF file says of itself (`e_machine`).
    pub fn of(program: &[u8]) -> anyhow::Result<Self> {
        match (program.get(..4), program.get(18..20)) {
            (Some(b"\x7fELF"), Some([0x3e, 0])) => Ok(Self::Amd64),
            (Some(b"\x7fELF"), Some([0xb7, 0])) => Ok(Self::Arm64),
            _ => bail!("not a program for amd64 or arm64"),
        }
    }

    /// As Debian, OCI and Go call it.
    pub fn debian(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// As RPM calls it.
    pub fn rpm(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }
}

/// Refuses what a dynamic loader would have to finish.
pub fn is_static(program: &[u8]) -> anyhow::Result<()> {
    let (first, size, count) = (
        number(program, 32, 8)?,
        number(program, 54, 2)?,
        number(program, 56, 2)?,
    );
    for index in 0..count {
        let segment = first.saturating_add(index * size);
        if number(program, segment, 4)? == INTERPRETER {
            bail!(
                "the program asks for a dynamic loader; RUSTFLAGS would take the static flags' place"
            );
        }
    }
    if number(program, 16, 2)? != POSITION_INDEPENDENT {
        bail!("the program isn't position independent");
    }
    Ok(())
}

fn number(program: &[u8], at: usize, bytes: usize) -> anyhow::Result<usize> {
    let end = at.checked_add(bytes);
    let field = end.and_then(|end| program.get(at..end));
    let field = field.context("the program's header is cut short")?;
    Ok(field
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_read_from_the_program() {
        let header = |machine: u8| {
            let mut header = b"\x7fELF\x02\x01\x01".to_vec();
            header.resize(18, 0);
            header.extend([machine, 0]);
            header
        };
        assert_eq!(Machine::of(&header(0x3e)).unwrap(), Machine::Amd64);
        assert_eq!(Machine::of(&header(0xb7)).unwrap(), Machine::Arm64);
        assert!(Machine::of(&header(0x28)).is_err());
        assert!(Machine::of(b"#!/bin/sh").is_err());
    }

    #[test]
    fn only_a_static_program_for_any_address_passes() {
        let program = |kind: u8, segments: [u8; 2]| {
            let mut program = vec![0; 64 + 2 * 56];
            program[16] = kind;
            program[32] = 64;
            program[54] = 56;
            program[56] = 2;
            for (segment, kind) in program[64..].chunks_mut(56).zip(segments) {
                segment[0] = kind;
            }
            program
        };
        assert!(is_static(&program(3, [1, 2])).is_ok());
        assert!(is_static(&program(2, [1, 2])).is_err());
        assert!(is_static(&program(3, [1, 3])).is_err());
        assert!(is_static(&program(3, [1, 2])[..100]).is_err());
        assert!(is_static(&[0xff; 64]).is_err());
    }
}
