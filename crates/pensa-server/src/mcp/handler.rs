//! Answers the requests of the protocol, whatever carries them.

use pensa_core::{Error, Result, VERSION, text};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

use super::{Calls, page, prompt, resources, tools};

/// Longest message of an error; some repeat what was given.
const MAX_MESSAGE: usize = 1_000;

/// Finds the store that a request means, and on whose behalf it comes.
pub(super) trait Host: Send + Sync + 'static {
    type Calls: Calls;

    fn calls(&self, context: &RequestContext<RoleServer>) -> Result<Self::Calls>;
}

/// A server of the protocol.
#[derive(Debug, Clone)]
pub(super) struct Handler<H> {
    pub(super) host: H,
}

impl<H: Host> Handler<H> {
    async fn tool(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResult> {
        let calls = match self.host.calls(context) {
            Ok(calls) => calls,
            Err(error) => return Some(refused(&error)),
        };
        let told = tools::run(&calls, &request.name, request.arguments.unwrap_or_default()).await?;
        Some(told.map_or_else(
            |error| refused(&error),
            |told| {
                let mut result = CallToolResult::success(vec![ContentBlock::text(told.text)]);
                result.structured_content = told.structured;
                result
            },
        ))
    }
}

impl<H: Host> ServerHandler for Handler<H> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("pensa", VERSION))
            .with_instructions(prompt::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = brief(&request.name);
        let unknown =
            || ErrorData::invalid_params(format!("no tool is called {name:?}"), hint("tools/list names them all"));
        self.tool(request, &context).await.map(Into::into).ok_or_else(unknown)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let calls = self.host.calls(&context).map_err(|error| failed(&error))?;
        let told = resources::read(&calls, &request.uri).await;
        let unknown = || {
            let message = format!("no resource is called {:?}", brief(&request.uri));
            ErrorData::resource_not_found(message, hint("resources/list names them all"))
        };
        let text = told.ok_or_else(unknown)?.map_err(|error| failed(&error))?;
        let contents = ResourceContents::text(text, request.uri).with_mime_type(resources::MEDIA_TYPE);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompt::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name == prompt::NAME {
            return Ok(GetPromptResult::new(prompt::messages()).into());
        }
        let message = format!("no prompt is called {:?}", brief(&request.name));
        Err(ErrorData::invalid_params(message, hint("prompts/list names them all")))
    }

    /// Whatever is no request that the protocol knows; also one that it knows, with other fields.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        const WITH_FIELDS: [&str; 4] = ["initialize", "tools/call", "resources/read", "prompts/get"];
        let method = brief(&request.method);
        if WITH_FIELDS.contains(&request.method.as_str()) {
            return Err(ErrorData::invalid_params(format!("the fields of {method} have another form"), None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("no method is called {method:?}"), None))
    }
}

/// An error as a model reads it: what went wrong, its code, and what to do.
fn refused(error: &Error) -> CallToolResult {
    let error = bounded(error);
    let hint = error.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    let told = format!("error: {}\ncode: {}{hint}\n", error.message, error.code);
    let mut result = CallToolResult::error(vec![ContentBlock::text(told)]);
    result.structured_content = serde_json::to_value(&error).ok();
    result
}

/// The same where the protocol has no place for it but its own errors.
fn failed(error: &Error) -> ErrorData {
    let error = bounded(error);
    ErrorData::internal_error(error.message.clone(), serde_json::to_value(&error).ok())
}

/// Messages name things that others have named.
fn bounded(error: &Error) -> Error {
    let cut = |text: &str| {
        let safe = page::data(text);
        safe[..safe.floor_char_boundary(MAX_MESSAGE)].to_owned()
    };
    Error { message: cut(&error.message), code: error.code, hint: error.hint.as_deref().map(cut) }
}

fn hint(hint: &str) -> Option<serde_json::Value> {
    Some(json!({"hint": hint}))
}

/// A name that somebody gave, short enough to be repeated.
fn brief(name: &str) -> String {
    text::printable_line(name).chars().take(100).collect()
}
