//! The `airdock` program; everything stands in the library beside this file.

use std::process::ExitCode;

fn main() -> ExitCode {
    airdock::cli::main()
}
