//! YAML documents as trees, within limits. JSON is YAML too.
//!
//! Aliases share what they stand for, so a short text can't become a large tree, and count with their
//! height, so that it can't become a deep one. Whoever walks one counts what it meets.

use std::collections::HashMap;
use std::rc::Rc;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};

use super::WorkloadError;

/// Values of one file, those that aliases repeat counted each time: fifty times the manifests of a
/// large cluster.
pub(super) const VALUES: usize = 2_000_000;
/// Levels of lists and maps: schemas of custom resources come to thirty.
pub(super) const DEPTH: usize = 128;

/// A value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// `~`, `null` or nothing.
    Null,
    /// Any other scalar, as it is written.
    Text(String),
    List(Vec<Rc<Value>>),
    /// In the order of the document; keys that aren't scalars are left out with their values.
    Map(Vec<(String, Rc<Value>)>),
}

impl Value {
    /// The value of a key, one that is merged in with `<<` among them.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(pairs) = self else {
            return None;
        };
        let own = pairs.iter().find(|(name, _)| name == key);
        let merged = || pairs.iter().find(|(name, _)| name == "<<");
        match own {
            Some((_, value)) => Some(value),
            None => merged()?.1.merged(key),
        }
    }

    fn merged(&self, key: &str) -> Option<&Self> {
        match self {
            Self::List(values) => values.iter().find_map(|value| value.direct(key)),
            value => value.direct(key),
        }
    }

    fn direct(&self, key: &str) -> Option<&Self> {
        let Self::Map(pairs) = self else {
            return None;
        };
        let found = pairs.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| &**value)
    }

    /// A scalar's text.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The documents of a text.
pub(super) fn documents(text: &str) -> Result<Vec<Rc<Value>>, WorkloadError> {
    let mut tree = Tree::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| broken(&error))?;
        tree.take(event, span.start.line())?;
    }
    Ok(tree.documents)
}

fn broken(error: &ScanError) -> WorkloadError {
    let reason = error.to_string();
    WorkloadError::Yaml { reason }
}

#[derive(Default)]
struct Tree {
    documents: Vec<Rc<Value>>,
    open: Vec<Open>,
    anchors: HashMap<usize, Tall>,
    values: usize,
}

/// A value, and the levels in it.
#[derive(Clone)]
struct Tall {
    value: Rc<Value>,
    height: usize,
}

impl Tall {
    fn flat(value: Value) -> Self {
        let (value, height) = (Rc::new(value), 0);
        Self { value, height }
    }
}

/// A list or a map that isn't over yet.
struct Open {
    anchor: usize,
    content: Content,
    /// Of the tallest value in it.
    height: usize,
}

enum Content {
    List(Vec<Rc<Value>>),
    Map {
        pairs: Vec<(String, Rc<Value>)>,
        /// The key whose value comes next; `Some(None)` where it is no scalar.
        key: Option<Option<String>>,
    },
}

impl Tree {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), WorkloadError> {
        self.values += 1;
        match event {
            Event::DocumentStart(_) => self.anchors.clear(),
            Event::Scalar(text, style, anchor, _) => {
                self.add(anchor, Tall::flat(scalar(&text, style)));
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned();
                self.add(0, value.unwrap_or_else(|| Tall::flat(Value::Null)));
            }
            Event::SequenceStart(anchor, _) => self.begin(anchor, Content::List(Vec::new())),
            Event::MappingStart(anchor, _) => {
                let (pairs, key) = (Vec::new(), None);
                self.begin(anchor, Content::Map { pairs, key });
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        let height = self.open.last().map_or(0, |open| open.height);
        if self.values > VALUES || self.open.len() + height > DEPTH {
            return Err(WorkloadError::TooMuch { line });
        }
        Ok(())
    }

    fn begin(&mut self, anchor: usize, content: Content) {
        let height = 0;
        self.open.push(Open {
            anchor,
            content,
            height,
        });
    }

    fn end(&mut self) {
        let Some(open) = self.open.pop() else {
            return;
        };
        let Open {
            anchor, content, ..
        } = open;
        let value = match content {
            Content::List(values) => Value::List(values),
            Content::Map { pairs, .. } => Value::Map(pairs),
        };
        let (value, height) = (Rc::new(value), open.height + 1);
        self.add(anchor, Tall { value, height });
    }

    fn add(&mut self, anchor: usize, tall: Tall) {
        if anchor != 0 {
            self.anchors.insert(anchor, tall.clone());
        }
        let Tall { value, height } = tall;
        let Some(open) = self.open.last_mut() else {
            self.documents.push(value);
            return;
        };
        open.height = open.height.max(height);
        match &mut open.content {
            Content::List(values) => values.push(value),
            Content::Map { pairs, key } => match key.take() {
                None => *key = Some(value.text().map(str::to_owned)),
                Some(Some(name)) => pairs.push((name, value)),
                Some(None) => {}
            },
        }
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    let is_null = matches!(text, "" | "~" | "null" | "Null" | "NULL");
    match style {
        ScalarStyle::Plain if is_null => Value::Null,
        _ => Value::Text(text.to_owned()),
    }
}
