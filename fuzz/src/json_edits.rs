//! Edits of valid JSON, which reach deeper code than random bytes.
//!
//! An input is the name of a base in the first line, followed by lines `NUMBER VALUE`. Each
//! replaces the node with that number. Without a value the node is removed.

use serde_json::Value;

/// Maximum number of edits; more edits find no further bugs.
const MAX_EDITS: usize = 16;

/// A valid value and the paths of its nodes.
pub struct Base {
    name: &'static str,
    value: Value,
    /// JSON pointers (RFC 6901) to all nodes.
    nodes: Vec<String>,
}

impl Base {
    /// Creates the base with this name.
    pub fn of(name: &'static str, value: Value) -> Self {
        let mut nodes = Vec::new();
        below(&value, "", &mut nodes);
        Self { name, value, nodes }
    }

    fn edited(&self, edits: &str) -> Value {
        let mut edited = self.value.clone();
        for edit in edits.lines().take(MAX_EDITS) {
            let (number, value) = edit.split_once(' ').unwrap_or((edit, ""));
            let Ok(number) = number.parse::<usize>() else {
                continue;
            };
            let node = &self.nodes[number % self.nodes.len()];
            match value {
                "" => remove(&mut edited, node),
                value => put(&mut edited, node, value),
            }
        }
        edited
    }
}

/// Returns the base that an input names, with its edits. Uses the first base if the name is
/// unknown.
pub fn edited(bases: &[Base], input: &[u8]) -> Value {
    of_base(bases, input).1
}

/// Returns the name of the base and the edited value.
pub fn of_base(bases: &[Base], input: &[u8]) -> (&'static str, Value) {
    let input = String::from_utf8_lossy(input);
    let (name, edits) = input.split_once('\n').unwrap_or((&input, ""));
    let base = bases.iter().find(|base| base.name == name);
    let base = base.unwrap_or(&bases[0]);
    (base.name, base.edited(edits))
}

/// Returns every base unchanged.
pub fn seeds(bases: &[Base]) -> Vec<Vec<u8>> {
    let names = bases.iter().map(|base| base.name);
    names.map(|name| format!("{name}\n").into()).collect()
}

fn below(value: &Value, pointer: &str, nodes: &mut Vec<String>) {
    nodes.push(pointer.to_owned());
    match value {
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                below(item, &format!("{pointer}/{number}"), nodes);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                below(field, &format!("{pointer}/{name}"), nodes);
            }
        }
        _ => {}
    }
}

fn put(edited: &mut Value, node: &str, value: &str) {
    if let Some(place) = edited.pointer_mut(node) {
        *place = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    }
}

fn remove(edited: &mut Value, node: &str) {
    let Some((parent, name)) = node.rsplit_once('/') else {
        return;
    };
    match edited.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(name);
        }
        Some(Value::Array(items)) => {
            if let Ok(number) = name.parse::<usize>()
                && number < items.len()
            {
                items.remove(number);
            }
        }
        _ => {}
    }
}
