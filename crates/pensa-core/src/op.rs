//! Defines what an operation is: a request with a typed answer, a name, a REST route and an access class.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An operation, declared once and served by every interface.
///
/// The doc comment of the implementing struct is its help on the command line and its description in the OpenAPI
/// document. Its fields are the flags, the query parameters and the JSON body.
pub trait Op: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    type Output: Serialize + DeserializeOwned + JsonSchema;
    /// The name used in batches and logs, such as `issue.close`.
    const NAME: &'static str;
    const ROUTE: Route;
    const ACCESS: Access;
    const SCOPE: Scope = Scope::Store;
    /// Whether the answer contains a secret. Such an answer is never stored, not even to answer a retry.
    const RETURNS_SECRET: bool = false;
    /// Fields that redaction must not change because they are compared byte for byte; `*` means all of them.
    const VERBATIM: &'static [&'static str] = &[];
    /// The largest request body that a server accepts, in bytes.
    const MAX_BODY: usize = 16 << 20;
}

/// Implements [`Op`]: `op!(Close => Issue, "issue.close", post("/issues/{id}/close"), Write)`. Constants that differ from
/// the defaults follow in braces.
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

/// What an operation works on.
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

    /// Whether fields outside the path are sent in the query string instead of a JSON body.
    pub fn fields_in_query(self) -> bool {
        matches!(self, Method::Get | Method::Delete)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The route of an operation in the REST API. `{field}` segments of the path are fields of the operation.
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

    /// This route, answering 201 Created.
    #[must_use]
    pub const fn creates(self) -> Self {
        Self { success: 201, ..self }
    }

    /// The names of the fields in the path, in order.
    pub fn path_fields(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

/// How much an operation may change. It decides who may run it and on which connection; ordered from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Reads only.
    Read,
    /// Changes state in a way that its author can reverse.
    Write,
    /// Removes or replaces state.
    Maintain,
    /// Manages the tokens of a project and reads its audit log.
    Admin,
    /// Manages a server: its projects, and the tokens and audit log of all of them.
    Operate,
}
