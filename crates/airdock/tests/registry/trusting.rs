//! TLS: whom we trust, and why not.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use airdock_testkit::fixture::Image;
use airdock_testkit::process::run;
use airdock_testkit::{Need, Outcome, Suite};

use crate::registry::{Options, Registry};
use crate::support::{NEEDS, Pack, digest_of, text};

const TLS: &[Need] = &[NEEDS[0], NEEDS[1], Need::Program("openssl")];

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("a_ca_is_trusted_that_is_given_or_the_systems", TLS, trusted)
        .test("an_unknown_ca_is_said_with_the_way_out", TLS, unknown)
        .test("a_certificate_for_another_host_is_said", TLS, other_host)
        .test("a_certificate_that_is_over_is_said", TLS, expired)
        .test("plain_http_where_tls_was_expected_is_said", NEEDS, plain)
        .test(
            "a_ca_file_without_a_certificate_is_refused",
            &[],
            no_certificate,
        )
}

/// A registry with `x:1` whose certificate is for `subject`, and the file of its CA.
fn secured(dir: &Path, subject: &str, days: &str) -> io::Result<(Registry, String, PathBuf)> {
    let ca = certificates(dir, subject, days)?;
    let options = Options {
        tls: Some((dir.join("leaf.pem"), dir.join("leaf.key"))),
        ..Options::default()
    };
    let registry = Registry::start(dir, &options)?;
    let name = registry.push("x:1", Image::small("one"))?;
    Ok((registry, name, ca))
}

fn certificates(dir: &Path, subject: &str, days: &str) -> io::Result<PathBuf> {
    let at = |name: &str| text(&dir.join(name)).to_owned();
    let key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
    ];
    let ca = ["req", "-x509", "-subj", "/CN=test CA", "-days", "2"];
    let (ca_pem, ca_key) = (at("ca.pem"), at("ca.key"));
    openssl(&[&ca[..], &key, &["-out", &ca_pem, "-keyout", &ca_key]].concat())?;
    let (request, leaf_key) = (at("leaf.csr"), at("leaf.key"));
    let new = ["req", "-new", "-subj", "/CN=test"];
    openssl(&[&new[..], &key, &["-out", &request, "-keyout", &leaf_key]].concat())?;
    let (extensions, leaf) = (at("leaf.ext"), at("leaf.pem"));
    fs::write(&extensions, format!("subjectAltName={subject}\n"))?;
    let sign = [
        "x509",
        "-req",
        "-CAcreateserial",
        "-days",
        days,
        "-in",
        &request,
    ];
    let by = [
        "-CA",
        &ca_pem,
        "-CAkey",
        &ca_key,
        "-extfile",
        &extensions,
        "-out",
        &leaf,
    ];
    openssl(&[&sign[..], &by].concat())?;
    Ok(PathBuf::from(ca_pem))
}

fn openssl(args: &[&str]) -> io::Result<()> {
    let ended = run("openssl", args)?;
    match ended.code {
        0 => Ok(()),
        _ => Err(io::Error::other(ended.stderr)),
    }
}

fn trusted(dir: &Path) -> Outcome {
    let (registry, name, ca) = secured(dir, "IP:127.0.0.1", "2")?;
    let skip = format!("--insecure-skip-tls-verify={}", registry.authority);
    for args in [
        &["--ca-file", text(&ca)][..],
        &["--insecure-skip-tls-verify"],
        &[&skip],
    ] {
        let packed = Pack::of(dir, &[args, &[&name]].concat()).run()?.good();
        assert_eq!(packed.digest(&name), digest_of("one"));
        fs::remove_dir_all(dir.join("cache"))?;
    }
    let system = Pack::of(dir, &[&name]).env("SSL_CERT_FILE", text(&ca));
    assert_eq!(system.run()?.good().digest(&name), digest_of("one"));
    Ok(())
}

fn unknown(dir: &Path) -> Outcome {
    let (_registry, name, _) = secured(dir, "IP:127.0.0.1", "2")?;
    let other = "--insecure-skip-tls-verify=other.example";
    for args in [vec![name.as_str()], vec![other, &name]] {
        let packed = Pack::of(dir, &args).run()?;
        packed.failed(1, &[&name, "isn't known here", "--ca-file"]);
    }
    let words = ["answers TLS", "--plain-http"];
    Pack::of(dir, &["--plain-http", &name])
        .run()?
        .failed(1, &words);
    Ok(())
}

fn other_host(dir: &Path) -> Outcome {
    let (_registry, name, ca) = secured(dir, "DNS:other.example", "2")?;
    let packed = Pack::of(dir, &["--ca-file", text(&ca), &name]).run()?;
    packed.failed(1, &["is for another host"]);
    Ok(())
}

fn expired(dir: &Path) -> Outcome {
    let (_registry, name, ca) = secured(dir, "IP:127.0.0.1", "-1")?;
    let packed = Pack::of(dir, &["--ca-file", text(&ca), &name]).run()?;
    packed.failed(1, &["has expired"]);
    Ok(())
}

fn plain(dir: &Path) -> Outcome {
    let registry = Registry::plain(dir)?;
    let name = registry.name("x:1");
    let words = [
        "answers plain http",
        &format!("--plain-http={}", registry.authority),
    ];
    Pack::of(dir, &[&name]).run()?.failed(1, &words);
    Ok(())
}

fn no_certificate(dir: &Path) -> Outcome {
    let file = dir.join("no.pem");
    fs::write(&file, "nothing")?;
    let packed = Pack::of(dir, &["--ca-file", text(&file), "x:1"]).run()?;
    packed.failed(2, &[text(&file), "no certificate"]);
    let packed = Pack::of(dir, &["--ca-file", text(&dir.join("absent")), "x:1"]).run()?;
    packed.failed(2, &["absent"]);
    Ok(())
}
