//! What an operation is: a request with a typed answer, its name, its place in the REST API, and who may run it.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An operation, declared once and served by every surface.
///
/// The doc comment of the implementing struct is its help on the command line and its text in the OpenAPI
/// document; its fields are the flags, the query parameters and the JSON body.
pub trait Op: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    type Output: Serialize + DeserializeOwned + JsonSchema;
    /// The name by which a batch or a log calls it: `issue.close`.
    const NAME: &'static str;
    const ROUTE: Route;
    const ACCESS: Access;
    const SCOPE: Scope = Scope::Store;
    /// Whether its answer holds a secret that is kept nowhere, not even to answer a retry.
    const TELLS_SECRET: bool = false;
    /// Fields that redaction leaves as they are, because they are compared byte for byte; `*` stands for all of them.
    const VERBATIM: &'static [&'static str] = &[];
    /// The largest request, in bytes, that a server takes in for it.
    const MAX_BODY: usize = 16 << 20;
}

/// Implements [`Op`]: `op!(Close => Issue, "issue.close", post("/issues/{id}/close"), Write)`. Constants that differ from
/// their defaults follow in braces.
macro_rules! op {
    (
        $op:ty => $output:ty, $name:literal, $method:ident($path:literal) $(.$creates:ident())?, $access:ident
        $(, { $($constants:tt)* })?
    ) => {
        impl $crate::Op for $op {
            type Output = $output;
            const NAME: &'static str = $name;
            const ROUTE: $crate::Route = $crate::Route::$method($path)$(.$creates())?;
            const ACCESS: $crate::Access = $crate::Access::$access;
            $($($constants)*)?
        }
    };
}
pub(crate) use op;

/// What an operation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One store.
    Store,
    /// A server with its projects and tokens.
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    Get,
    Post,
    Patch,
    Delete,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    /// Whether fields that are not in the path travel in the query rather than in a JSON body.
    pub fn fields_in_query(self) -> bool {
        matches!(self, Method::Get | Method::Delete)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where an operation lives in the REST API. `{field}` segments of the path are fields of the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub success: u16,
}

impl Route {
    pub const fn get(path: &'static str) -> Self {
        Self { method: Method::Get, path, success: 200 }
    }

    pub const fn post(path: &'static str) -> Self {
        Self { method: Method::Post, path, success: 200 }
    }

    pub const fn patch(path: &'static str) -> Self {
        Self { method: Method::Patch, path, success: 200 }
    }

    pub const fn delete(path: &'static str) -> Self {
        Self { method: Method::Delete, path, success: 200 }
    }

    /// This route, answering 201 because it makes something.
    #[must_use]
    pub const fn creates(self) -> Self {
        Self { success: 201, ..self }
    }

    /// The fields that stand in the path, in order.
    pub fn path_fields(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

/// What an operation does to a store, and so who may run it and on which connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Looks only.
    Read,
    /// Changes state that its author could change back.
    Write,
    /// Removes or replaces state.
    Maintain,
    /// Manages the tokens of a project and reads its audit.
    Admin,
    /// Manages a server: its projects, and the tokens and audit of all of them.
    Operate,
}
