//! Who we are is shown to those who ask for it, in the way that they ask for, and to nobody else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airdock_testkit::fixture::Image;
use airdock_testkit::{Outcome, Suite, wait};

use crate::proxy::{Action, Answer, Proxy, Request};
use crate::registry::{Options, PASSWORD, Registry, USER};
use crate::support::{NEEDS, Pack, digest_of, text};

/// base64 of `test:secret`, and of `test:wrong`.
const RIGHT: &str = "dGVzdDpzZWNyZXQ=";
const WRONG: &str = "dGVzdDp3cm9uZw==";

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("a_password_is_found_where_tools_keep_it", NEEDS, kept)
        .test(
            "without_a_password_it_is_said_where_it_was_looked_for",
            NEEDS,
            none,
        )
        .test("a_wrong_password_is_said_with_its_file", NEEDS, wrong)
        .test("a_credential_helper_is_asked", NEEDS, helper)
        .test("a_token_is_fetched_and_used_again", NEEDS, token)
        .test(
            "tokens_for_several_repositories_come_at_once",
            NEEDS,
            several,
        )
        .test("an_identity_token_is_exchanged", NEEDS, identity)
        .test("a_token_that_is_over_is_renewed", NEEDS, renewed)
        .test("a_refused_token_is_said", NEEDS, refused)
        .test(
            "no_credential_goes_to_a_service_on_plain_http_elsewhere",
            NEEDS,
            elsewhere,
        )
}

/// A registry that asks for a password, with `x:1`.
fn guarded(dir: &Path) -> std::io::Result<(Registry, String)> {
    let options = Options {
        password: true,
        ..Options::default()
    };
    let registry = Registry::start(dir, &options)?;
    let name = registry.push("x:1", Image::small("one"))?;
    Ok((registry, name))
}

fn entry(authority: &str, auth: &str) -> String {
    format!(r#"{{"auths":{{"{authority}":{{"auth":"{auth}"}}}}}}"#)
}

/// Writes a file with credentials.
fn write(dir: &Path, name: &str, text: &str) -> std::io::Result<PathBuf> {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap_or(dir))?;
    fs::write(&path, text)?;
    Ok(path)
}

fn kept(dir: &Path) -> Outcome {
    let (registry, name) = guarded(dir)?;
    let right = entry(&registry.authority, RIGHT);
    let usual = [
        ("a/config.json", "DOCKER_CONFIG", "a"),
        ("b/containers/auth.json", "XDG_RUNTIME_DIR", "b"),
        ("c/auth.json", "REGISTRY_AUTH_FILE", "c/auth.json"),
        ("d/containers/auth.json", "XDG_CONFIG_HOME", "d"),
        (".docker/config.json", "UNUSED", "x"),
    ];
    for (file, key, value) in usual {
        let path = write(dir, file, &right)?;
        let value = dir.join(value);
        let pack = Pack::of(dir, &["--plain-http", &name]).env(key, text(&value));
        let packed = pack.run()?.good();
        assert_eq!(packed.digest(&name), digest_of("one"), "{file}");
        assert!(!packed.said.contains(PASSWORD) && !packed.said.contains(RIGHT));
        fs::remove_file(path)?;
        fs::remove_dir_all(dir.join("cache"))?;
    }
    Ok(())
}

fn none(dir: &Path) -> Outcome {
    let (_registry, name) = guarded(dir)?;
    let pack = || Pack::of(dir, &["--plain-http", &name]).run();
    pack()?.failed(
        1,
        &["asks for a credential", "no file with credentials", "login"],
    );
    let other = write(dir, ".docker/config.json", &entry("other.example", RIGHT))?;
    pack()?.failed(1, &["asks for a credential", text(&other)]);
    Ok(())
}

fn wrong(dir: &Path) -> Outcome {
    let (registry, name) = guarded(dir)?;
    let path = write(
        dir,
        ".docker/config.json",
        &entry(&registry.authority, WRONG),
    )?;
    let packed = Pack::of(dir, &["--plain-http", &name]).run()?;
    let packed = packed.failed(1, &["refuses the credential from", text(&path)]);
    assert!(!packed.said.contains("wrong") && !packed.said.contains(WRONG));
    write(dir, ".docker/config.json", "{")?;
    Pack::of(dir, &["--plain-http", &name])
        .run()?
        .failed(1, &[text(&path), "JSON"]);
    Ok(())
}

fn helper(dir: &Path) -> Outcome {
    let (registry, name) = guarded(dir)?;
    let authority = &registry.authority;
    let program = write(
        dir,
        "bin/docker-credential-mine",
        &format!(
            "#!/bin/sh\nread key\n[ \"$1\" = get ] && [ \"$key\" = {authority} ] || \
         {{ echo credentials not found in native keychain; exit 1; }}\n\
         echo '{{\"ServerURL\":\"x\",\"Username\":\"{USER}\",\"Secret\":\"{PASSWORD}\"}}'\n"
        ),
    )?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let path = format!("{}:/usr/bin:/bin", text(&dir.join("bin")));
    let pack = |config: &str| {
        write(dir, ".docker/config.json", config)?;
        Pack::of(dir, &["--plain-http", &name])
            .env("PATH", &path)
            .run()
    };
    let of_host = format!(r#"{{"credHelpers":{{"{authority}":"mine"}}}}"#);
    for config in [of_host.as_str(), r#"{"credsStore":"mine"}"#] {
        let packed = pack(config)?.good();
        assert_eq!(packed.digest(&name), digest_of("one"));
        fs::remove_file(packed.out)?;
        fs::remove_dir_all(dir.join("cache"))?;
    }
    pack(r#"{"credsStore":"absent"}"#)?.failed(1, &["docker-credential-absent", "config.json"]);
    fs::write(&program, "#!/bin/sh\necho the key ring is locked; exit 1\n")?;
    pack(r#"{"credsStore":"mine"}"#)?.failed(1, &["docker-credential-mine", "key ring is locked"]);
    fs::write(
        &program,
        "#!/bin/sh\necho credentials not found in native keychain; exit 1\n",
    )?;
    pack(r#"{"credsStore":"mine"}"#)?.failed(1, &["asks for a credential"]);
    Ok(())
}

/// A registry behind a proxy that wants a token, which it gives itself to who `may` have one.
fn tokens(
    dir: &Path,
    life: u64,
    may: impl Fn(&Request) -> bool + Send + Sync + 'static,
) -> std::io::Result<(Registry, Proxy, String)> {
    let registry = Registry::with_one(dir)?;
    let proxy = Proxy::before(&registry.authority, move |request| {
        if request.path.starts_with("/token") {
            let token = format!(r#"{{"token":"good","expires_in":{life}}}"#);
            return match may(request) {
                true => Answer::with(200, &[], &token),
                false => Answer::with(401, &[], r#"{"details":"incorrect username or password"}"#),
            };
        }
        let challenge = format!(
            "WWW-Authenticate: Bearer realm=\"http://{}/token\",service=\"s v\",scope=\"repository:x:pull\"",
            request.header("host")
        );
        match request.header("authorization") {
            "Bearer good" => Action::Forward,
            _ => Answer::with(401, &[&challenge], ""),
        }
    })?;
    let name = proxy.name("x:1");
    Ok((registry, proxy, name))
}

fn token(dir: &Path) -> Outcome {
    let right = format!("Basic {RIGHT}");
    let may = move |request: &Request| request.header("authorization") == right;
    let (_registry, proxy, name) = tokens(dir, 300, may)?;
    write(dir, ".docker/config.json", &entry(&proxy.authority, RIGHT))?;
    let packed = Pack::of(dir, &["--plain-http", &name]).run()?.good();
    assert_eq!(packed.digest(&name), digest_of("one"));
    let calls = proxy.calls("/token");
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(
        calls[0].request.path,
        "/token?service=s+v&scope=repository%3Ax%3Apull"
    );
    // The password itself was for the token service alone.
    let calls = proxy.calls("/v2/");
    let basic = |call: &&crate::proxy::Call| call.request.header("authorization").contains("Basic");
    assert_eq!(calls.iter().filter(basic).count(), 0);
    Ok(())
}

fn several(dir: &Path) -> Outcome {
    let asked = AtomicUsize::new(0);
    // Nobody gets one before both have asked.
    let may = move |_: &Request| {
        asked.fetch_add(1, Ordering::SeqCst);
        let both = || (asked.load(Ordering::SeqCst) >= 2).then_some(());
        wait::until("both to ask", Duration::from_secs(20), both).is_ok()
    };
    let (registry, proxy, one) = tokens(dir, 300, may)?;
    registry.push("y:1", Image::small("two"))?;
    let other = proxy.name("y:1");
    let packed = Pack::of(dir, &["--plain-http", &one, &other]).run()?.good();
    assert_eq!(packed.digest(&other), digest_of("two"));
    Ok(())
}

fn identity(dir: &Path) -> Outcome {
    let may = |request: &Request| {
        request.body.contains("grant_type=refresh_token")
            && request.body.contains("refresh_token=id%2Ftoken")
            && request.body.contains("scope=repository%3Ax%3Apull")
    };
    let (_registry, proxy, name) = tokens(dir, 300, may)?;
    let config = format!(
        r#"{{"auths":{{"{}":{{"identitytoken":"id/token"}}}}}}"#,
        proxy.authority
    );
    write(dir, ".docker/config.json", &config)?;
    let packed = Pack::of(dir, &["--plain-http", &name]).run()?.good();
    assert_eq!(packed.digest(&name), digest_of("one"));
    Ok(())
}

fn renewed(dir: &Path) -> Outcome {
    // It is over when it comes: each request needs another one, and none fails for it.
    let (_registry, proxy, name) = tokens(dir, 0, |_| true)?;
    let packed = Pack::of(dir, &["--plain-http", "--jobs", "1", &name])
        .run()?
        .good();
    assert_eq!(packed.digest(&name), digest_of("one"));
    assert!(proxy.calls("/token").len() > 1);
    Ok(())
}

fn refused(dir: &Path) -> Outcome {
    let (_registry, proxy, name) = tokens(dir, 300, |_| false)?;
    let pack = || Pack::of(dir, &["--plain-http", &name]).run();
    pack()?.failed(1, &["asks for a credential"]);
    let path = write(dir, ".docker/config.json", &entry(&proxy.authority, WRONG))?;
    let words = [
        "refuses the credential from",
        text(&path),
        "incorrect username",
    ];
    pack()?.failed(1, &words);
    Ok(())
}

fn elsewhere(dir: &Path) -> Outcome {
    let service = Proxy::before("127.0.0.1:1", |_| Answer::status(200))?;
    let realm = format!(
        "WWW-Authenticate: Bearer realm=\"http://{}/token\"",
        service.authority
    );
    let registry = Proxy::before("127.0.0.1:1", move |_| Answer::with(401, &[&realm], ""))?;
    write(
        dir,
        ".docker/config.json",
        &entry(&registry.authority, RIGHT),
    )?;
    let name = registry.name("x:1");
    let plain = format!("--plain-http={}", registry.authority);
    let words = ["plain http", service.authority.as_str()];
    Pack::of(dir, &[&plain, &name]).run()?.failed(1, &words);
    assert!(service.calls("").is_empty());
    Ok(())
}
