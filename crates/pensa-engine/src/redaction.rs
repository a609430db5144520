//! Redacts secrets in the input of every operation before the operation runs.
//!
//! `pensa-redact` recognises secrets; each operation declares which of its fields stay verbatim.

use pensa_core::{Access, Error, Op, Result};
use pensa_redact::Redactor;
use serde_json::{Map, Value};

use crate::context::{Context, Redactions};
use crate::db::Tx;
use crate::execute::Execute;

/// Redacts an operation; `None` if it contains no secrets.
pub(crate) fn redact_op<O: Op>(cx: &Context<'_>, op: &O) -> Result<Option<O>> {
    if is_exempt(cx, O::ACCESS, O::VERBATIM) {
        return Ok(None);
    }
    let clean = redact(cx, serde_json::to_value(op).map_err(Error::internal)?, O::VERBATIM);
    clean.map(|clean| O::deserialize(&clean).map_err(|e| Error::invalid(format!("{}: {e}", O::NAME)))).transpose()
}

/// Redacts an operation and runs it.
pub(crate) fn execute<O: Execute>(cx: &Context<'_>, tx: &Tx<'_>, op: &O) -> Result<O::Output> {
    match redact_op(cx, op)? {
        Some(clean) => clean.execute(cx, tx),
        None => op.execute(cx, tx),
    }
}

/// As [`redact_op`], for an operation that arrived as JSON.
pub(crate) fn redact_input<O: Op>(cx: &Context<'_>, input: &Value) -> Option<Value> {
    if is_exempt(cx, O::ACCESS, O::VERBATIM) || !pensa_redact::may_be_in(input) {
        None
    } else {
        redact(cx, input.clone(), O::VERBATIM)
    }
}

fn is_exempt(cx: &Context<'_>, access: Access, verbatim: &[&str]) -> bool {
    cx.redactions.take();
    cx.no_redact || access == Access::Read || verbatim == ["*"]
}

fn redact(cx: &Context<'_>, input: Value, verbatim: &[&str]) -> Option<Value> {
    let Value::Object(mut fields) = input else { return None };
    if fields.get("no_redact") == Some(&Value::Bool(true)) || fields.values().any(is_too_long) {
        return None;
    }
    let verbatim_fields: Vec<_> = verbatim.iter().filter_map(|name| fields.shift_remove_entry(*name)).collect();
    let mut redactor = cx.redactor();
    let items = redact_items(&mut fields, &mut redactor);
    redactor.map(&mut fields);
    fields.extend(verbatim_fields);
    let total = redactor.count();
    cx.redactions.replace(Redactions { total, items });
    (total > 0).then_some(Value::Object(fields))
}

/// Whether a text is too long for any field, so that the operation will refuse it anyway.
fn is_too_long(value: &Value) -> bool {
    const LONGEST: usize = 32 << 20;
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        match value {
            Value::String(text) if text.len() > LONGEST => return true,
            Value::Array(items) => stack.extend(items),
            Value::Object(members) => stack.extend(members.values()),
            _ => {}
        }
    }
    false
}

/// Redacts the operation's list of objects and counts the secrets per item. The later pass over all fields finds
/// nothing more there.
fn redact_items(fields: &mut Map<String, Value>, redactor: &mut Redactor) -> Vec<usize> {
    let is_list = |value: &Value| value.as_array().is_some_and(|items| items.first().is_some_and(Value::is_object));
    let mut lists = fields.values_mut().filter(|value| is_list(value));
    let (Some(Value::Array(items)), None) = (lists.next(), lists.next()) else { return Vec::new() };
    let each = items.iter_mut().map(|item| {
        let before = redactor.count();
        redactor.value(item);
        redactor.count() - before
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use pensa_core::for_each_op;
    use schemars::SchemaGenerator;
    use serde_json::json;

    use super::*;
    use crate::context::Caller;
    use crate::engine::Engine;
    use crate::execute::Entry;
    use crate::store::StoreDir;

    fn secret() -> String {
        ["gh", "p_", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5"].concat()
    }

    /// A value of this schema with a secret in every free text.
    fn with_secrets(schema: &Value, root: &Value, depth: usize) -> Value {
        let inner = |schema: &Value| with_secrets(schema, root, depth + 1);
        let chosen = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.as_array()?.first());
        let referred = schema.get("$ref").and_then(Value::as_str).and_then(|to| root.pointer(to.strip_prefix('#')?));
        if depth > 12 {
            return Value::Null;
        }
        if let Some(one) = schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
            return one.clone();
        }
        if let Some(other) = referred.or(chosen) {
            return inner(other);
        }
        let kind = schema.get("type").map(|kind| kind.get(0).unwrap_or(kind).clone());
        match kind.as_ref().and_then(Value::as_str) {
            Some("object") => {
                let mut members = Map::new();
                for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                    members.insert(name.clone(), inner(schema));
                }
                if members.is_empty() {
                    members.insert("note".to_owned(), Value::from(secret()));
                }
                Value::Object(members)
            }
            Some("array") => json!([inner(schema.get("items").unwrap_or(&Value::Bool(true)))]),
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(false),
            _ => Value::from(format!("about {} here", secret())),
        }
    }

    fn check<O: Execute>(cx: &Context<'_>, texts: &mut usize) {
        let root = SchemaGenerator::default().root_schema_for::<O>().to_value();
        let input = with_secrets(&root, &root, 0);
        let count = input.to_string().matches(&secret()).count();
        if O::ACCESS == Access::Read || O::VERBATIM == ["*"] || count == 0 {
            return;
        }
        *texts += count;
        let mut clean = redact_input::<O>(cx, &input).unwrap_or_else(|| panic!("{} is not redacted: {input}", O::NAME));
        assert!(cx.redacted() > 0, "{}", O::NAME);
        for name in O::VERBATIM {
            assert_eq!(clean.get(name), input.get(name), "{}", O::NAME);
            clean.as_object_mut().and_then(|fields| fields.shift_remove(*name));
        }
        assert!(!clean.to_string().contains(&secret()), "{}: {clean}", O::NAME);
    }

    #[test]
    fn no_text_of_any_operation_keeps_a_secret() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(".pensa")).expect("a store");
        let engine = Engine::open(store).expect("opens");
        let mut texts = 0;
        macro_rules! each {
            ($($op:path,)*) => {
                engine.run(Access::Read, &Caller::local("a"), |cx, _| {
                    let mut count = 0;
                    $(check::<$op>(cx, &mut count);)*
                    Ok(count)
                }).expect("looked at")
            };
        }
        texts += for_each_op!(each);
        assert!(texts > 150, "{texts} texts of operations");
    }

    #[test]
    fn only_listed_operations_skip_redaction() {
        let exempt: Vec<&str> = crate::execute::catalog()
            .iter()
            .filter(|entry: &&Entry| entry.verbatim == ["*"])
            .map(|entry| entry.name)
            .collect();
        // Lines of a batch are redacted one by one, records if their collection asks for it, and records from another
        // store stay as they are there.
        assert_eq!(exempt, ["batch", "record.put", "record.delete", "record.index", "record.apply", "sync.take"]);
    }
}
