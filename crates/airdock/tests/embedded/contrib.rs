//! What is carried beside the program fits it.

use std::path::Path;

use airdock_testkit::process::run;
use airdock_testkit::{Need, Outcome, Suite, repository};
use serde_json::Value;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "alert_rules_are_yaml_and_use_metrics_that_exist",
            &[Need::Program("python3")],
            alerts,
        )
        .test("the_dashboard_uses_metrics_that_exist", &[], dashboard)
        .test(
            "the_list_of_importers_names_tests_that_exist",
            &[],
            importers,
        )
}

/// Every metric that the documentation names; the metrics' own test shows that they are served.
fn known_metrics() -> std::io::Result<Vec<String>> {
    let text = std::fs::read_to_string(repository().join("docs/operating.md"))?;
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut metrics: Vec<String> = words
        .filter(|word| word.starts_with("airdock_"))
        .map(str::to_owned)
        .collect();
    let series = ["_bucket", "_count", "_sum"];
    metrics.extend(series.map(|series| format!("airdock_import_seconds{series}")));
    Ok(metrics)
}

fn assert_known(expression: &str, known: &[String]) {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut used = words.filter(|word| word.starts_with("airdock_")).peekable();
    assert!(used.peek().is_some(), "{expression}");
    for metric in used {
        assert!(
            known.iter().any(|known| known == metric),
            "{metric} in {expression}"
        );
    }
}

fn alerts(_: &Path) -> Outcome {
    let rules = repository().join("contrib/prometheus/alerts.yaml");
    let script = "import json,sys\ntry:\n import yaml\nexcept ImportError:\n sys.exit(42)\nprint(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let ended = run("python3", &["-c", script, &rules.to_string_lossy()])?;
    if ended.code == 42 {
        return expressions_alone(&std::fs::read_to_string(rules)?);
    }
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let rules: Value = serde_json::from_str(&ended.stdout)?;
    let rules = rules["groups"][0]["rules"].as_array().ok_or("rules")?;
    let known = known_metrics()?;
    for rule in rules {
        for key in ["alert", "expr"] {
            assert!(rule[key].is_string(), "{key} of {rule}");
        }
        assert!(rule["annotations"]["description"].is_string(), "{rule}");
        assert_known(rule["expr"].as_str().unwrap_or_default(), &known);
    }
    Ok(())
}

/// Without a YAML reader at hand the metrics are compared all the same.
fn expressions_alone(rules: &str) -> Outcome {
    let known = known_metrics()?;
    let expressions = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "));
    expressions.for_each(|expression| assert_known(expression, &known));
    Ok(())
}

fn dashboard(_: &Path) -> Outcome {
    let text = std::fs::read_to_string(repository().join("contrib/grafana/airdock.json"))?;
    let dashboard: Value = serde_json::from_str(&text)?;
    let known = known_metrics()?;
    for panel in dashboard["panels"].as_array().ok_or("panels")? {
        for target in panel["targets"].as_array().ok_or("targets")? {
            assert_known(target["expr"].as_str().unwrap_or_default(), &known);
        }
    }
    Ok(())
}

fn importers(_: &Path) -> Outcome {
    let list = std::fs::read_to_string(repository().join("docs/comparison.md"))?;
    let mut sources = String::new();
    for folder in ["tests/containerd", "tests/embedded", "src/agent"] {
        for file in std::fs::read_dir(repository().join("crates/airdock").join(folder))? {
            let path = file?.path();
            if path.is_file() {
                sources.push_str(&std::fs::read_to_string(path)?);
            }
        }
    }
    let between_backticks = list.split('`').skip(1).step_by(2);
    let mut tests = between_backticks
        .filter(|text| text.matches('_').count() > 2)
        .peekable();
    assert!(tests.peek().is_some(), "no test is named");
    for test in tests {
        let is_test =
            sources.contains(&format!("\"{test}\"")) || sources.contains(&format!("fn {test}()"));
        assert!(is_test, "{test}");
    }
    Ok(())
}
