//! Parses learnings in the format of other tools: one object per piece of work, with a list for each kind.
//!
//! The engine resolves the task to an issue.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Impact, Kind, WorkValue};
use crate::error::{Code, Error, Result};
use crate::issue::Extra;
use crate::time::Timestamp;

/// Maximum number of learnings in one object.
const MAX_EACH: usize = 1000;

/// One learning of such an object, not yet checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedLearning {
    pub kind: Kind,
    pub text: String,
    pub tags: Vec<String>,
    pub files: Vec<String>,
    pub impact: Impact,
    pub value: Option<WorkValue>,
    pub linear_id: Option<String>,
    /// The id of the task in the other tool.
    pub task: Option<String>,
    pub at: Option<Timestamp>,
    /// Other fields of the object.
    pub extra: Extra,
}

#[derive(Deserialize)]
struct SeedDocument {
    #[serde(default, alias = "taskId")]
    task_id: Option<String>,
    #[serde(default, alias = "linearId")]
    linear_id: Option<String>,
    #[serde(default)]
    timestamp: Option<Timestamp>,
    learnings: Lists,
    #[serde(default)]
    value: Option<SeedValue>,
    #[serde(default, alias = "filesChanged")]
    files_changed: Option<Vec<String>>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(flatten)]
    extra: Extra,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    #[serde(default)]
    patterns: Option<Vec<String>>,
    #[serde(default)]
    approaches: Option<Vec<String>>,
    #[serde(default)]
    decisions: Option<Vec<String>>,
    #[serde(default)]
    gotchas: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct SeedValue {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    impact: Option<Impact>,
    #[serde(default)]
    description: Option<String>,
}

/// Parses the learnings of one object, in the order of the lists.
pub fn read(object: Map<String, Value>) -> Result<Vec<SeedLearning>> {
    // Serde would accept a list for a struct in which all fields are optional.
    if let Some(field) =
        ["learnings", "value"].into_iter().find(|field| object.get(*field).is_some_and(Value::is_array))
    {
        return Err(not_learnings(format!("{field} is a list")));
    }
    let whole: SeedDocument = serde_json::from_value(Value::Object(object)).map_err(not_learnings)?;
    let SeedDocument { task_id, linear_id, timestamp, learnings, value, files_changed, tags, extra } = whole;
    let impact = value.as_ref().and_then(|value| value.impact).unwrap_or_default();
    let worth = value.map(|value| WorkValue { kind: value.kind, description: value.description });
    let worth = worth.filter(|worth| *worth != WorkValue::default());
    let (files, tags) = (files_changed.unwrap_or_default(), tags.unwrap_or_default());
    let lists = [
        (Kind::Pattern, learnings.patterns),
        (Kind::Approach, learnings.approaches),
        (Kind::Decision, learnings.decisions),
        (Kind::Gotcha, learnings.gotchas),
    ];
    let texts = lists.into_iter().flat_map(|(kind, texts)| texts.into_iter().flatten().map(move |text| (kind, text)));
    let parsed: Vec<SeedLearning> = texts
        .map(|(kind, text)| SeedLearning {
            kind,
            text,
            tags: tags.clone(),
            files: files.clone(),
            impact,
            value: worth.clone(),
            linear_id: linear_id.clone(),
            task: task_id.clone(),
            at: timestamp,
            extra: extra.clone(),
        })
        .take(MAX_EACH + 1)
        .collect();
    if parsed.len() > MAX_EACH {
        return Err(Error::new(Code::TooLarge, format!("a record of more than {MAX_EACH} learnings")));
    }
    Ok(parsed)
}

fn not_learnings(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("not a record of learnings: {why}")).hint(
        r#"such as {"learnings":{"gotchas":["…"]},"tags":["…"]}; patterns, approaches and decisions go there too"#,
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            _ => unreachable!("an object"),
        }
    }

    #[test]
    fn each_list_gives_learnings_of_its_kind() {
        let camel = json!({"taskId": "t-1", "linearId": "PRJ-1", "timestamp": "2024-01-15T10:40:00.000Z",
            "learnings": {"patterns": ["p"], "approaches": ["a"], "decisions": ["d"], "gotchas": ["g", "h"]},
            "value": {"type": "feature", "impact": "high", "description": "why"},
            "filesChanged": ["core/x.ts"], "tags": ["b", "a"], "mood": 1});
        let parsed = read(object(camel.clone())).expect("learnings");
        let texts: Vec<(Kind, &str)> = parsed.iter().map(|one| (one.kind, one.text.as_str())).collect();
        let (p, a, d, g) = (Kind::Pattern, Kind::Approach, Kind::Decision, Kind::Gotcha);
        assert_eq!(texts, [(p, "p"), (a, "a"), (d, "d"), (g, "g"), (g, "h")]);
        let first = &parsed[0];
        assert_eq!((first.impact, first.task.as_deref()), (Impact::High, Some("t-1")));
        assert_eq!(first.value, Some(WorkValue { kind: Some("feature".into()), description: Some("why".into()) }));
        assert_eq!((&first.files[..], first.extra.get("mood")), (&["core/x.ts".to_owned()][..], Some(&json!(1))));
        let snake = camel.to_string().replace("taskId", "task_id").replace("linearId", "linear_id");
        let snake = snake.replace("filesChanged", "files_changed");
        assert_eq!(read(serde_json::from_str(&snake).expect("JSON")).expect("learnings"), parsed);
    }

    #[test]
    fn missing_and_null_fields_are_none() {
        let bare =
            json!({"linearId": null, "learnings": {"gotchas": ["g"], "patterns": null}, "value": null, "tags": null});
        let [one] = &read(object(bare)).expect("one")[..] else { panic!("one") };
        assert_eq!((one.impact, &one.value, &one.linear_id, one.at), (Impact::Medium, &None, &None, None));
        assert!(read(object(json!({"learnings": {}}))).expect("none").is_empty());
    }

    #[test]
    fn invalid_objects_are_refused() {
        for bad in [
            json!({}),
            json!({"learnings": []}),
            json!({"learnings": {}, "value": []}),
            json!({"learnings": {"gotchas": "g"}}),
            json!({"learnings": {"gotchas": [1]}}),
            json!({"learnings": {"rumours": ["g"]}}),
            json!({"learnings": {}, "timestamp": "soon"}),
            json!({"learnings": {}, "value": {"impact": "huge"}}),
            json!({"learnings": {"gotchas": vec!["g"; MAX_EACH + 1]}}),
        ] {
            assert!(read(object(bad.clone())).is_err(), "{bad}");
        }
    }
}
