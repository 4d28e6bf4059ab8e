//! Programs that keep credentials: <https://github.com/docker/docker-credential-helpers>.

use std::path::Path;
use std::process::{Output, Stdio};

use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::{Credential, CredentialError, Secret};
use crate::pull::limits;

/// The user's name that marks an identity token.
const TOKEN_USER: &str = "<token>";
/// What every helper says where it has nothing; no failure.
const NOTHING: &str = "credentials not found in native keychain";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

/// Asks `docker-credential-NAME get`; `None` where it knows none. `file` is what names it.
pub(super) async fn get(
    file: &Path,
    name: &str,
    key: &str,
) -> Result<Option<Credential>, CredentialError> {
    let program = format!("docker-credential-{name}");
    let path = file.to_owned();
    let output = match timeout(limits::HELPER, run(&program, key)).await {
        Err(_) => return Err(CredentialError::HelperSilent { path, program }),
        Ok(Err(source)) => {
            return Err(CredentialError::Helper {
                path,
                program,
                source,
            });
        }
        Ok(Ok(output)) => output,
    };
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let said = said.trim();
        let error = String::from_utf8_lossy(&output.stderr);
        return match said.contains(NOTHING) {
            true => Ok(None),
            false => Err(CredentialError::HelperFailed {
                path,
                program,
                said: if said.is_empty() { error.trim() } else { said }.to_owned(),
            }),
        };
    }
    match serde_json::from_str::<Answer>(&said) {
        Ok(answer) => Ok(Some(answer.into_credential())),
        // What it printed may hold the secret.
        Err(_) => Err(CredentialError::HelperFailed {
            path,
            program,
            said: "its answer isn't understood".to_owned(),
        }),
    }
}

async fn run(program: &str, key: &str) -> std::io::Result<Output> {
    let mut child = Command::new(program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // One that doesn't read its input may still answer.
        let _ = input.write_all(key.as_bytes()).await;
    }
    let (stdout, stderr) = read(&mut child).await?;
    let status = child.wait().await?;
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

async fn read(child: &mut Child) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let limit = limits::HELPER_OUTPUT as u64;
    let output = child.stdout.take().map(|output| output.take(limit));
    let errors = child.stderr.take().map(|errors| errors.take(limit));
    if let (Some(mut output), Some(mut errors)) = (output, errors) {
        let both = (
            output.read_to_end(&mut stdout),
            errors.read_to_end(&mut stderr),
        );
        tokio::try_join!(both.0, both.1)?;
    }
    Ok((stdout, stderr))
}

impl Answer {
    fn into_credential(self) -> Credential {
        let secret = Secret::new(self.secret);
        match self.username.as_str() {
            TOKEN_USER => Credential::Identity(secret),
            _ => Credential::Password {
                user: self.username,
                password: secret,
            },
        }
    }
}
