//! Handles MCP requests, independent of the transport.

use pensa_core::{Error, Result, VERSION, text};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext as McpContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

use super::{StoreCalls, page, prompt, resources, tools};

/// Maximum length of an error message; some repeat parts of the input.
const MAX_MESSAGE: usize = 1_000;

/// Returns the store and caller for a request.
pub(super) trait StoreFinder: Send + Sync + 'static {
    type StoreCalls: StoreCalls;

    fn find(&self, context: &McpContext<RoleServer>) -> Result<Self::StoreCalls>;
}

/// The MCP server.
#[derive(Debug, Clone)]
pub(super) struct Handler<H> {
    pub(super) stores: H,
}

impl<H: StoreFinder> Handler<H> {
    async fn tool(&self, request: CallToolRequestParams, context: &McpContext<RoleServer>) -> Option<CallToolResult> {
        let calls = match self.stores.find(context) {
            Ok(calls) => calls,
            Err(error) => return Some(refused(&error)),
        };
        let output = tools::run(&calls, &request.name, request.arguments.unwrap_or_default()).await?;
        Some(output.map_or_else(
            |error| refused(&error),
            |output| {
                let mut result = CallToolResult::success(vec![ContentBlock::text(output.text)]);
                result.structured_content = output.structured;
                result
            },
        ))
    }
}

impl<H: StoreFinder> ServerHandler for Handler<H> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("pensa", VERSION))
            .with_instructions(prompt::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: McpContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: McpContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = brief(&request.name);
        let unknown =
            || ErrorData::invalid_params(format!("no tool is called {name:?}"), hint("tools/list names them all"));
        self.tool(request, &context).await.map(Into::into).ok_or_else(unknown)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: McpContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: McpContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let calls = self.stores.find(&context).map_err(|error| failed(&error))?;
        let content = resources::read(&calls, &request.uri).await;
        let unknown = || {
            let message = format!("no resource is called {:?}", brief(&request.uri));
            ErrorData::resource_not_found(message, hint("resources/list names them all"))
        };
        let text = content.ok_or_else(unknown)?.map_err(|error| failed(&error))?;
        let contents = ResourceContents::text(text, request.uri).with_mime_type(resources::MEDIA_TYPE);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: McpContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompt::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: McpContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name == prompt::NAME {
            let calls = self.stores.find(&context).ok();
            return Ok(GetPromptResult::new(prompt::messages(calls.as_ref()).await).into());
        }
        let message = format!("no prompt is called {:?}", brief(&request.name));
        Err(ErrorData::invalid_params(message, hint("prompts/list names them all")))
    }

    /// Called for unknown methods, and for known methods with invalid parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: McpContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        const WITH_FIELDS: [&str; 4] = ["initialize", "tools/call", "resources/read", "prompts/get"];
        let method = brief(&request.method);
        if WITH_FIELDS.contains(&request.method.as_str()) {
            return Err(ErrorData::invalid_params(format!("invalid parameters for {method}"), None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("no method is called {method:?}"), None))
    }
}

/// A tool result that reports an error: message, code and hint.
fn refused(error: &Error) -> CallToolResult {
    let error = bounded(error);
    let hint = error.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    let text = format!("error: {}\ncode: {}{hint}\n", error.message, error.code);
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = serde_json::to_value(&error).ok();
    result
}

/// The same as a protocol error.
fn failed(error: &Error) -> ErrorData {
    let error = bounded(error);
    ErrorData::internal_error(error.message.clone(), serde_json::to_value(&error).ok())
}

/// Limits message and hint: they may contain text from records.
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

/// A name from the client, shortened for an error message.
fn brief(name: &str) -> String {
    text::printable_line(name).chars().take(100).collect()
}
