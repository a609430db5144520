//! `pn remember`, whose standard input may be text or records of other tools, `pn recall` and `pn learning`.

use pensa_core::ops::learning::{Remember, Take};
use pensa_core::session::Object;
use pensa_core::{Error, Op, Result};
use serde_json::Value;

use super::{pass_on, stdin};
use crate::cli::{Learning, Options};
use crate::connect;
use crate::output::Output;

pub(super) fn run(options: &Options, output: Output, command: Learning) -> Result<()> {
    match command {
        Learning::List(op) => pass_on(options, output, &op),
        Learning::Show(op) => pass_on(options, output, &op),
        Learning::Verify(op) => pass_on(options, output, &op),
        Learning::Forget(op) => pass_on(options, output, &op),
    }
}

pub(super) fn remember(options: &Options, output: Output, mut op: Remember) -> Result<()> {
    if op.text == "-" {
        op.text = stdin::read_within(Take::MAX_BODY)?;
        if op.text.trim_start().starts_with('{') {
            refuse_flags(&op)?;
            let take = Take { records: records(&op.text)?, no_redact: op.no_redact };
            return pass_on(options, output, &take);
        }
    }
    let kept = connect::client(options)?.call(&op)?;
    output.answer(&kept)?;
    if kept.merged {
        output.note(&format!("note: it was known, and is now in revision {}", kept.learning.revision));
    }
    if kept.redactions > 0 {
        output.note(&format!("note: {} replaced; --no-redact keeps what looks like a secret", kept.redactions));
    }
    Ok(())
}

/// A record says by itself what a flag would.
fn refuse_flags(op: &Remember) -> Result<()> {
    let plain = Remember { text: op.text.clone(), no_redact: op.no_redact, ..Remember::default() };
    if serde_json::to_value(op).ok() == serde_json::to_value(plain).ok() {
        return Ok(());
    }
    Err(Error::invalid("records on standard input say by themselves what kind they are and where they are from")
        .hint("leave out the flags, or write the text itself"))
}

/// Records, one a line or spread over many.
fn records(text: &str) -> Result<Vec<Object>> {
    let mut records = Vec::new();
    for record in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let at = records.len() + 1;
        match record.map_err(|e| Error::invalid(format!("record {at} is not JSON: {e}")))? {
            Value::Object(record) => records.push(record),
            _ => return Err(Error::invalid(format!("record {at} is not an object"))),
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_may_stand_in_one_line_or_in_many() {
        for text in ["{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}{\"b\":2}", "{\n  \"a\": 1\n}\n\n{\"b\":2}"] {
            assert_eq!(records(text).expect("two").len(), 2, "{text}");
        }
        for (bad, told) in [("{\"a\":1}\n[]", "record 2 is not an object"), ("{\"a\":1}\n{", "record 2 is not JSON")] {
            assert!(records(bad).expect_err(told).message.starts_with(told));
        }
        assert!(records(&"{\"a\":".repeat(100_000)).is_err(), "too deep");
    }
}
