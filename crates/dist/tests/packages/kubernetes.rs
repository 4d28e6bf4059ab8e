//! The DaemonSet and the Dockerfile, for those who can't install packages.

use std::fs;
use std::path::Path;
use std::process::Command;

use airdock_testkit::{Need, Outcome, Suite, repository};
use serde_json::{Value, json};

use crate::support::read;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "the_daemonset_asks_for_no_more_than_it_needs",
            &[Need::Yaml],
            daemonset,
        )
        .test(
            "every_mount_of_the_daemonset_has_a_volume",
            &[Need::Yaml],
            mounts,
        )
        .test(
            "the_daemonset_says_what_the_program_understands",
            &[Need::Yaml, Need::Airdock],
            commands,
        )
        .test("the_image_is_the_program_alone", &[], dockerfile)
}

/// The pod of the one DaemonSet.
fn pod() -> std::io::Result<Value> {
    let file = repository().join("contrib/kubernetes/daemonset.yaml");
    let script =
        "import json,sys,yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
    let documents = read(Command::new("python3").args(["-c", script]).arg(file))?;
    let documents: Vec<Value> = serde_json::from_str(&documents)?;
    let kinds: Vec<&str> = documents
        .iter()
        .filter_map(|d| d["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["Namespace", "DaemonSet"]);
    let spec = &documents[1]["spec"];
    assert_eq!(
        spec["selector"]["matchLabels"],
        spec["template"]["metadata"]["labels"]
    );
    Ok(spec["template"]["spec"].clone())
}

fn daemonset(_: &Path) -> Outcome {
    let pod = pod()?;
    let context = &pod["containers"][0]["securityContext"];
    assert_eq!(context["privileged"], json!(false));
    assert_eq!(context["readOnlyRootFilesystem"], json!(true));
    assert_eq!(context["capabilities"]["drop"], json!(["ALL"]));
    // The unit's, in Kubernetes' words.
    assert_eq!(
        context["capabilities"]["add"],
        json!(["DAC_READ_SEARCH", "LEASE"])
    );
    assert_eq!(pod["automountServiceAccountToken"], json!(false));
    assert_eq!(pod["tolerations"], json!([{ "operator": "Exists" }]));
    for host in ["hostNetwork", "hostPID", "hostIPC"] {
        assert_eq!(pod[host], Value::Null, "{host}");
    }
    Ok(())
}

fn mounts(_: &Path) -> Outcome {
    let pod = pod()?;
    let names = |list: &Value| -> Vec<String> {
        let names = list.as_array().into_iter().flatten();
        names
            .filter_map(|item| item["name"].as_str().map(str::to_owned))
            .collect()
    };
    let (mounts, volumes) = (&pod["containers"][0]["volumeMounts"], &pod["volumes"]);
    let (mut mounted, mut there) = (names(mounts), names(volumes));
    mounted.sort();
    there.sort();
    assert_eq!(mounted, there);
    for volume in volumes.as_array().ok_or("volumes")? {
        let name = &volume["name"];
        let mount = mounts
            .as_array()
            .ok_or("mounts")?
            .iter()
            .find(|m| m["name"] == *name);
        let path = &volume["hostPath"]["path"];
        let same = path.is_null() || mount.is_some_and(|mount| mount["mountPath"] == *path);
        assert!(same, "{name} is elsewhere than on the node");
    }
    Ok(())
}

/// Arguments and probe are parsed by the program's own command line.
fn commands(_: &Path) -> Outcome {
    let pod = pod()?;
    let container = &pod["containers"][0];
    let words = |list: &Value| -> Vec<String> {
        let words = list.as_array().into_iter().flatten();
        words
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect()
    };
    let probe = words(&container["livenessProbe"]["exec"]["command"]);
    assert_eq!(probe[0], "/usr/bin/airdock");
    let args = words(&container["args"]);
    for line in [&args[..], &probe[1..]] {
        let typed = ["airdock".to_owned()].into_iter().chain(line.to_vec());
        airdock::cli::command().try_get_matches_from(typed)?;
    }
    Ok(())
}

fn dockerfile(_: &Path) -> Outcome {
    let text = fs::read_to_string(repository().join("Dockerfile"))?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(
        lines,
        [
            "FROM scratch",
            "COPY airdock /usr/bin/airdock",
            "ENTRYPOINT [\"/usr/bin/airdock\"]",
            "CMD [\"watch\"]",
        ]
    );
    Ok(())
}
