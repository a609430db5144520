//! What it takes to run an operation, and the catalog that runs one by its name.

use std::sync::LazyLock;

use pensa_core::{Access, Error, Op, Result, Route, Scope, for_each_op, json};
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use crate::context::{Caller, Context};
use crate::db::Tx;
use crate::engine::Engine;
use crate::redaction;
use crate::tables::answers::Once;

/// An operation that the engine can run.
pub trait Execute: Op {
    /// How it runs if it needs transactions of its own; see [`ExecuteAlone`].
    const ALONE: Option<AloneCalls<Self>> = None;

    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Self::Output>;

    /// Refuses what only a process that has opened the store itself may ask, such as to touch files of its choice.
    fn allow_remotely(&self) -> Result<()> {
        Ok(())
    }

    /// Appends the answer to `to` as JSON. Operations whose answer may be long write it row by row.
    fn write_json(&self, cx: &Context<'_>, tx: &Tx<'_>, to: &mut Vec<u8>) -> Result<()> {
        json::write_line(to, &self.execute(cx, tx)?)
    }
}

/// An operation that copies or replaces what is committed, so that no other changes may share its commit.
pub trait ExecuteAlone: Execute {
    /// Its answer, if a reader can tell that there is nothing to do: then it need not wait for the writers.
    fn is_done(&self, _: &Context<'_>, _: &Tx<'_>) -> Result<Option<Self::Output>> {
        Ok(None)
    }

    /// What has to be committed before it begins.
    fn prepare(&self, _: &Context<'_>, _: &Tx<'_>) -> Result<Option<Self::Output>> {
        Ok(None)
    }

    /// Its answer, with that of what had to be committed before.
    fn answer(_: Option<&Self::Output>, done: Self::Output) -> Self::Output {
        done
    }

    /// What follows its commit. A failure is reported; what is committed stays.
    fn finish(&self, _: &Context<'_>) -> Result<()> {
        Ok(())
    }
}

/// Runs an operation in transactions of its own, or returns the answer that the same request had before.
pub type Alone = fn(&Engine, &Caller, Option<&Once>, &Value) -> Result<String>;

/// The calls of an operation that runs alone: compiled for those few, not for every operation.
#[derive(Debug)]
pub struct AloneCalls<O: Execute> {
    pub(crate) call: fn(&Engine, &Caller, &O) -> Result<O::Output>,
    pub(crate) call_once: fn(&Engine, &Caller, &O, Option<&Once>) -> Result<String>,
    run: Alone,
}

impl<O: ExecuteAlone> AloneCalls<O> {
    pub(crate) const fn new() -> Self {
        Self { call: Engine::call_alone::<O>, call_once: Engine::call_alone_once::<O>, run: run_alone::<O> }
    }
}

fn run_alone<O: ExecuteAlone>(engine: &Engine, caller: &Caller, once: Option<&Once>, input: &Value) -> Result<String> {
    let op = O::deserialize(input).map_err(|e| Error::invalid(format!("{}: {e}", O::NAME)))?;
    op.allow_remotely()?;
    engine.call_alone_once(caller, &op, once)
}

/// One operation of the catalog, its types erased: JSON in, JSON out.
pub struct Entry {
    pub name: &'static str,
    pub route: Route,
    pub access: Access,
    pub scope: Scope,
    pub tells_secret: bool,
    pub verbatim: &'static [&'static str],
    pub max_body: usize,
    pub run: fn(&Context<'_>, &Tx<'_>, &Value) -> Result<String>,
    /// How it is run if its transactions are its own.
    pub alone: Option<Alone>,
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
            tells_secret: O::TELLS_SECRET,
            verbatim: O::VERBATIM,
            max_body: O::MAX_BODY,
            run: |cx, tx, input| {
                cx.require(O::ACCESS, O::NAME)?;
                let clean = redaction::of_input::<O>(cx, input);
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

    /// The schema of its input, with the definitions that it refers to.
    pub fn root_schema(&self) -> Value {
        let mut generator = SchemaGenerator::default();
        let mut schema = (self.input_schema)(&mut generator);
        schema.insert("$defs".into(), generator.take_definitions(true).into());
        schema.to_value()
    }
}

/// Every operation, in the catalog's order.
pub fn catalog() -> &'static [Entry] {
    macro_rules! entries {
        ($($op:path,)*) => { vec![$(Entry::of::<$op>(),)*] };
    }
    static CATALOG: LazyLock<Vec<Entry>> = LazyLock::new(|| for_each_op!(entries));
    &CATALOG
}

/// The operation called `name`.
pub fn entry(name: &str) -> Option<&'static Entry> {
    catalog().iter().find(|entry| entry.name == name)
}
