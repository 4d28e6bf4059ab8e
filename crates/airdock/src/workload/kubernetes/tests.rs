use super::super::{Fields, WorkloadError, names};

fn found(text: &str) -> Vec<String> {
    shown(names(text, Fields::Pods))
}

fn shown(
    names: Result<std::collections::BTreeSet<airdock_bundle::name::Name>, WorkloadError>,
) -> Vec<String> {
    match names {
        Ok(names) => names.iter().map(ToString::to_string).collect(),
        Err(error) => vec![format!("error: {error}")],
    }
}

#[test]
fn every_kind_of_pod_template_is_found() {
    let pod = "containers: [{name: a, image: 'example.com/a:1'}]";
    for (kind, spec) in [
        ("Pod", format!("spec: {{{pod}}}")),
        ("PodTemplate", format!("template: {{spec: {{{pod}}}}}")),
        (
            "Deployment",
            format!("spec: {{template: {{spec: {{{pod}}}}}}}"),
        ),
        (
            "StatefulSet",
            format!("spec: {{template: {{spec: {{{pod}}}}}}}"),
        ),
        (
            "DaemonSet",
            format!("spec: {{template: {{spec: {{{pod}}}}}}}"),
        ),
        (
            "ReplicaSet",
            format!("spec: {{template: {{spec: {{{pod}}}}}}}"),
        ),
        ("Job", format!("spec: {{template: {{spec: {{{pod}}}}}}}")),
        (
            "CronJob",
            format!("spec: {{jobTemplate: {{spec: {{template: {{spec: {{{pod}}}}}}}}}}}"),
        ),
        ("List", format!("items: [{{kind: Pod, spec: {{{pod}}}}}]")),
        ("PodList", format!("items: [{{spec: {{{pod}}}}}]")),
        (
            "Operated",
            format!("spec: {{server: {{podTemplate: {{spec: {{{pod}}}}}}}}}"),
        ),
    ] {
        let text = format!("apiVersion: v1\nkind: {kind}\n{spec}\n");
        assert_eq!(found(&text), ["example.com/a:1"], "{kind}");
    }
}

#[test]
fn what_people_have_names_images() {
    let helm = "---\n# Source: chart/templates/a.yaml\napiVersion: apps/v1\nkind: Deployment\nspec:\n  \
        template:\n    spec:\n      initContainers:\n        - name: init\n          image: \"busybox\"\n      \
        containers:\n        - image: quay.io/a/b@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n      \
        ephemeralContainers:\n        - image: registry:5000/c:2\n      \
        volumes:\n        - name: v\n          image:\n            reference: example.com/files:1\n---\n\
        # empty\n---\napiVersion: v1\nkind: ConfigMap\ndata:\n  image: not-this\n";
    let digest = "a".repeat(64);
    let in_helm = [
        "docker.io/library/busybox:latest".to_owned(),
        "example.com/files:1".to_owned(),
        format!("quay.io/a/b@sha256:{digest}"),
        "registry:5000/c:2".to_owned(),
    ];
    let k3s = "docker.io/rancher/klipper-helm:v0.9.3\r\ndocker.io/rancher/mirrored-pause:3.6\r\n";
    let k0s = "quay.io/k0sproject/coredns:1.11\nregistry.k8s.io/pause:3.9 # comment\n\n# x\n";
    let json =
        r#"{"kind":"List","items":[{"kind":"Pod","spec":{"containers":[{"image":"a:1"}]}}]}"#;
    for (text, expected) in [
        (helm, in_helm.to_vec()),
        (
            k3s,
            vec![
                "docker.io/rancher/klipper-helm:v0.9.3".to_owned(),
                "docker.io/rancher/mirrored-pause:3.6".to_owned(),
            ],
        ),
        (
            k0s,
            vec![
                "quay.io/k0sproject/coredns:1.11".to_owned(),
                "registry.k8s.io/pause:3.9".to_owned(),
            ],
        ),
        (json, vec!["docker.io/library/a:1".to_owned()]),
        (
            "- b:1\n- a:1\n",
            vec![
                "docker.io/library/a:1".to_owned(),
                "docker.io/library/b:1".to_owned(),
            ],
        ),
        ("", vec![]),
        ("containers:\n- image: ''\n- image:\n- {}\n", vec![]),
    ] {
        assert_eq!(found(text), expected, "{text}");
    }
}

#[test]
fn anchors_and_merges_are_followed() {
    let text = "x: &c {image: 'a:1'}\nspec:\n  containers:\n  - <<: *c\n    name: one\n  - *c\n  \
        - <<: [{name: two}, {image: 'b:1'}]\n";
    assert_eq!(
        found(text),
        ["docker.io/library/a:1", "docker.io/library/b:1"]
    );
}

#[test]
fn other_image_fields_are_an_option() {
    let text = "kind: Operated\nspec:\n  image: a:1\n  proxy: {image: {registry: r.io, repository: p, tag: 2}}\n  \
        logo: {image: 'Not A Name'}\n";
    assert!(found(text).is_empty());
    assert_eq!(
        shown(names(text, Fields::Every)),
        ["docker.io/library/a:1", "r.io/p:2"]
    );
}

#[test]
fn what_is_no_name_is_said_with_its_place() {
    for (text, said) in [
        (
            "kind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: app, image: 'Web:1'}]}\n",
            "Pod web, containers app: \"Web:1\" is no image name",
        ),
        ("good:1\nBad:1\n", "line 2: \"Bad:1\" is no image name"),
        ("a: [1\nb: }", "neither a list of names nor YAML"),
    ] {
        let error = found(text).remove(0);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn aliases_can_not_make_a_small_file_large() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let before = format!("*a{}, ", n - 1).repeat(10);
        text.push_str(&format!("a{n}: &a{n} [{before}]\n"));
    }
    assert!(found(&text).remove(0).contains("aliases repeat"));
}

#[test]
fn no_file_is_too_deep_to_walk() {
    let nested = format!("a: {}{}", "[".repeat(5000), "]".repeat(5000));
    // Each alias goes one level deeper, in keys, which nobody walks, until the last.
    let links = (1..200_000).map(|n| format!("? &a{n} [*a{}]\n: x\n", n - 1));
    let chain = format!(
        "? &a0 x\n: x\n{}last: [*a199999]\n",
        links.collect::<String>()
    );
    for (text, said) in [(nested, "recursion limit"), (chain, "levels deep")] {
        let error = found(&text).remove(0);
        assert!(error.contains(said), "{error}");
    }
}
