//! The trait that operations implement, and the catalog that runs an operation by its name.

use std::sync::LazyLock;

use pensa_core::{Access, Error, Op, Result, Route, Scope, for_each_op, json};
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use crate::context::{Caller, Context};
use crate::db::Tx;
use crate::engine::Engine;
use crate::redaction;
use crate::tables::answers::IdempotentRequest;

/// An operation that the engine can run.
pub trait Execute: Op {
    /// How it runs if it needs exclusive transactions; see [`ExecuteAlone`].
    const ALONE: Option<AloneCalls<Self>> = None;

    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Self::Output>;

    /// Refuses inputs that only a local caller may use, such as paths of files to write.
    fn allow_remotely(&self) -> Result<()> {
        Ok(())
    }

    /// Appends the answer to `to` as JSON. Operations with long answers write them row by row.
    fn write_json(&self, cx: &Context<'_>, tx: &Tx<'_>, to: &mut Vec<u8>) -> Result<()> {
        json::write_line(to, &self.execute(cx, tx)?)
    }
}

/// An operation that copies or replaces committed data, so that no other changes may share its transaction.
pub trait ExecuteAlone: Execute {
    /// The answer, if a read transaction shows that nothing needs to be done. Then the operation does not wait for
    /// writers.
    fn is_done(&self, _: &Context<'_>, _: &Tx<'_>) -> Result<Option<Self::Output>> {
        Ok(None)
    }

    /// Changes that must be committed before [`execute`](Execute::execute) runs.
    fn prepare(&self, _: &Context<'_>, _: &Tx<'_>) -> Result<Option<Self::Output>> {
        Ok(None)
    }

    /// Combines the answers of [`prepare`](Self::prepare) and [`execute`](Execute::execute).
    fn answer(_: Option<&Self::Output>, done: Self::Output) -> Self::Output {
        done
    }

    /// What follows the commit. A failure is reported, but the commit stays.
    fn finish(&self, _: &Context<'_>) -> Result<()> {
        Ok(())
    }
}

/// Runs an operation in exclusive transactions, or returns the stored answer of the same request.
pub type RunAlone = fn(&Engine, &Caller, Option<&IdempotentRequest>, &Value) -> Result<String>;

/// The functions that run an exclusive operation. They are compiled for these operations only.
#[derive(Debug)]
pub struct AloneCalls<O: Execute> {
    pub(crate) call: fn(&Engine, &Caller, &O) -> Result<O::Output>,
    pub(crate) call_once: fn(&Engine, &Caller, &O, Option<&IdempotentRequest>) -> Result<String>,
    run: RunAlone,
}

impl<O: ExecuteAlone> AloneCalls<O> {
    pub(crate) const fn new() -> Self {
        Self { call: Engine::call_alone::<O>, call_once: Engine::call_alone_once::<O>, run: run_alone::<O> }
    }
}

fn run_alone<O: ExecuteAlone>(
    engine: &Engine,
    caller: &Caller,
    once: Option<&IdempotentRequest>,
    input: &Value,
) -> Result<String> {
    let op = O::deserialize(input).map_err(|e| Error::invalid(format!("{}: {e}", O::NAME)))?;
    op.allow_remotely()?;
    engine.call_alone_once(caller, &op, once)
}

/// A type-erased operation of the catalog: JSON in, JSON out.
pub struct Entry {
    pub name: &'static str,
    pub route: Route,
    pub access: Access,
    pub scope: Scope,
    pub returns_secret: bool,
    pub verbatim: &'static [&'static str],
    pub max_body: usize,
    pub run: fn(&Context<'_>, &Tx<'_>, &Value) -> Result<String>,
    /// How it runs if it needs exclusive transactions.
    pub alone: Option<RunAlone>,
    pub input_schema: fn(&mut SchemaGenerator) -> Schema,
    pub output_schema: fn(&mut SchemaGenerator) -> Schema,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Entry({} {})", self.route.method, self.route.path)
    }
}

impl Entry {
    fn of<O: Execute>() -> Self {
        Self {
            name: O::NAME,
            route: O::ROUTE,
            access: O::ACCESS,
            scope: O::SCOPE,
            returns_secret: O::RETURNS_SECRET,
            verbatim: O::VERBATIM,
            max_body: O::MAX_BODY,
            run: |cx, tx, input| {
                cx.require(O::ACCESS, O::NAME)?;
                let clean = redaction::redact_input::<O>(cx, input);
                let input = clean.as_ref().unwrap_or(input);
                let op = O::deserialize(input).map_err(|e| Error::invalid(format!("{}: {e}", O::NAME)))?;
                op.allow_remotely()?;
                let mut answer = Vec::with_capacity(512);
                op.write_json(cx, tx, &mut answer)?;
                String::from_utf8(answer).map_err(Error::internal)
            },
            alone: O::ALONE.map(|alone| alone.run),
            input_schema: O::json_schema,
            output_schema: |generator| generator.subschema_for::<O::Output>(),
        }
    }

    /// The JSON schema of its input, with all referenced definitions.
    pub fn root_schema(&self) -> Value {
        let mut generator = SchemaGenerator::default();
        let mut schema = (self.input_schema)(&mut generator);
        schema.insert("$defs".into(), generator.take_definitions(true).into());
        schema.to_value()
    }
}

/// All operations, in the order of `for_each_op!`.
pub fn catalog() -> &'static [Entry] {
    macro_rules! entries {
        ($($op:path,)*) => { vec![$(Entry::of::<$op>(),)*] };
    }
    static CATALOG: LazyLock<Vec<Entry>> = LazyLock::new(|| for_each_op!(entries));
    &CATALOG
}

/// Finds an operation by name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    catalog().iter().find(|entry| entry.name == name)
}
