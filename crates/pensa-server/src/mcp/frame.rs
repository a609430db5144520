//! Parses one JSON-RPC message, and builds the error response for input that is not one.

use pensa_core::text;
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, RequestId, ServerJsonRpcMessage};
use serde_json::Value;

/// Maximum size of a message: room for the longest text, however it is escaped.
pub(super) const MAX_BYTES: usize = 16 << 20;

/// One line of input.
#[derive(Debug)]
pub(super) enum RpcFrame {
    Message(Box<ClientJsonRpcMessage>),
    /// Not a valid message; contains the error response.
    Refused(Box<ServerJsonRpcMessage>),
    /// A blank line, or a message that needs no response.
    Nothing,
}

pub(super) fn read(line: &[u8]) -> RpcFrame {
    if line.trim_ascii().is_empty() {
        return RpcFrame::Nothing;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(e) => return refused(ErrorCode::PARSE_ERROR, &format!("not JSON: {e}"), None),
    };
    let (id, is_call) = (id_of(&value), value.get("method").is_some() && value.get("id").is_some());
    match (serde_json::from_value(value), &id) {
        (Ok(message @ (ClientJsonRpcMessage::Request(_) | ClientJsonRpcMessage::Notification(_))), _) => {
            RpcFrame::Message(Box::new(message))
        }
        // The server sends no requests, so responses are ignored.
        (Ok(_), _) => RpcFrame::Nothing,
        (Err(_), None) if is_call => refused(ErrorCode::INVALID_REQUEST, "an id is a string or a whole number", None),
        (Err(e), _) => refused(ErrorCode::INVALID_REQUEST, &format!("no message of JSON-RPC 2.0: {e}"), id),
    }
}

pub(super) fn too_large() -> ServerJsonRpcMessage {
    let message = format!("the message is larger than {} MiB", MAX_BYTES >> 20);
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INVALID_REQUEST, message, None), None)
}

fn refused(code: ErrorCode, message: &str, id: Option<RequestId>) -> RpcFrame {
    let message: String = text::printable_line(message).chars().take(200).collect();
    RpcFrame::Refused(Box::new(ServerJsonRpcMessage::error(ErrorData::new(code, message, None), id)))
}

fn id_of(value: &Value) -> Option<RequestId> {
    serde_json::from_value(value.get("id")?.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(line: &str) -> Value {
        match read(line.as_bytes()) {
            RpcFrame::Refused(answer) => serde_json::to_value(answer).expect("serialises"),
            other => panic!("{line:.80} was taken for {other:?}"),
        }
    }

    #[test]
    fn invalid_message_gets_an_error_response() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for bad in ["{", "nonsense", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x", "\u{1b}[2J", &deep] {
            assert_eq!(answer(bad)["error"]["code"], -32700, "{bad:.80}");
        }
        for bad in ["[]", "5", "null", "{}", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "[{\"a\":1}]"] {
            assert_eq!(answer(bad)["error"]["code"], -32600, "{bad}");
        }
        let bad = answer("{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}");
        assert_eq!(bad["id"], 7);
        assert!(answer("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}")["error"]["message"].is_string());
    }

    #[test]
    fn requests_and_notifications_are_messages_and_responses_are_ignored() {
        for good in [
            json!({"jsonrpc": "2.0", "id": "a", "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {"x": [1]}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        ] {
            assert!(matches!(read(good.to_string().as_bytes()), RpcFrame::Message(_)), "{good}");
        }
        let reply = json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string();
        for nothing in [&reply, "", "  \r"] {
            assert!(matches!(read(nothing.as_bytes()), RpcFrame::Nothing), "{nothing}");
        }
    }
}
