//! Rebuilds the messages that a model sees from the entries of a session. They are never stored.
//!
//! Providers reject a tool call without a result and a result without a call, both of which a crash can leave behind.
//! This module drops such results and adds an error result to such calls. The private module `payload` parses the data
//! of entries.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use super::entry::Entry;
use super::object;
use super::payload::{self, ConversationItem, ToolResult};
use super::{Session, tokens};
use crate::time::Timestamp;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum MessageRole {
    System,
    User,
    Assistant,
    Tool,
}

/// One message of a context.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    pub role: MessageRole,
    pub content: String,
    /// The tool calls of the assistant; the results follow at once, in this order
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call to which a tool's message is the result
    pub tool_call_id: Option<String>,
    /// True when a tool failed, or when its result is unknown; else absent
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Its entry; absent for the opening message and for results that were never recorded
    pub entry: Option<i64>,
}

impl Message {
    fn new(role: MessageRole, content: String) -> Self {
        Self { role, content, tool_calls: Vec::new(), tool_call_id: None, is_error: false, entry: None }
    }

    /// The estimated number of tokens of its content and the JSON of its calls.
    pub fn tokens(&self) -> u64 {
        let calls = if self.tool_calls.is_empty() { 0 } else { object::json_bytes(&self.tool_calls) };
        tokens::estimate(self.content.len().saturating_add(calls))
    }
}

/// A tool call of an assistant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// Usually an object; anything else as it was sent
    pub arguments: Value,
}

/// The content of the result that is added to a call without one.
pub const NO_RESULT: &str = "no result of this call was recorded; it may or may not have taken effect";

/// Returns the messages of a session from its entries, which must be in order.
///
/// The reset message or compaction summary that opened the session comes first, as a system message. `max_tokens` keeps
/// this message and as many of the newest turns as fit next to it, possibly none. A turn is a user message with
/// everything up to the next one; messages before the first user message form a turn too.
pub fn context(
    session: &Session,
    entries: impl IntoIterator<Item = impl Borrow<Entry>>,
    max_tokens: Option<u64>,
) -> Vec<Message> {
    let mut rebuild = Rebuild::new(session);
    for entry in entries {
        rebuild.push(entry.borrow());
    }
    rebuild.finish(max_tokens)
}

/// Rebuilds a context from entries that arrive one at a time, in constant time per entry.
#[derive(Debug)]
pub struct Rebuild {
    opening: Option<Message>,
    messages: Vec<MessageWithResults>,
    /// The last assistant message by its time, by which an `assistant_rewrite` refers to it
    assistant_at: HashMap<Timestamp, usize>,
    calls: OpenCalls,
}

/// A message with the results of its calls, in the order of the calls.
#[derive(Debug)]
struct MessageWithResults {
    message: Message,
    results: Vec<Option<Message>>,
}

impl Rebuild {
    pub fn new(session: &Session) -> Self {
        let opening = session.reset_message.clone().filter(|text| !text.is_empty());
        Self {
            opening: opening.map(|text| Message::new(MessageRole::System, text)),
            messages: Vec::new(),
            assistant_at: HashMap::new(),
            calls: OpenCalls::default(),
        }
    }

    /// Adds the next entry.
    pub fn push(&mut self, entry: &Entry) {
        match payload::item(entry) {
            Some(ConversationItem::User(text)) if !text.is_empty() => {
                let message = Message { entry: Some(entry.id), ..Message::new(MessageRole::User, text) };
                self.messages.push(MessageWithResults { message, results: Vec::new() });
            }
            Some(ConversationItem::Assistant { text, calls }) => self.push_assistant(entry, text, calls),
            Some(ConversationItem::Rewrite { at, text }) => {
                let named = self.assistant_at.get(&at).and_then(|index| self.messages.get_mut(*index));
                if let Some(named) = named {
                    named.message.content = text;
                }
            }
            Some(ConversationItem::Result(result)) => {
                let ToolResult { call_id, text, is_error } = result;
                let answer = Message { is_error, entry: Some(entry.id), ..Message::new(MessageRole::Tool, text) };
                if let Some((position, answer)) = self.calls.match_result(call_id, answer) {
                    self.set_result(position, answer);
                }
            }
            Some(ConversationItem::User(_)) | None => {}
        }
    }

    fn push_assistant(&mut self, entry: &Entry, text: String, tool_calls: Vec<ToolCall>) {
        let index = self.messages.len();
        self.assistant_at.insert(entry.at, index);
        let ids: Vec<String> = tool_calls.iter().map(|call| call.id.clone()).collect();
        let message = Message { tool_calls, entry: Some(entry.id), ..Message::new(MessageRole::Assistant, text) };
        self.messages.push(MessageWithResults { message, results: vec![None; ids.len()] });
        for (call, id) in ids.into_iter().enumerate() {
            self.calls.add_call(id, CallPosition { message: index, call });
        }
    }

    fn set_result(&mut self, position: CallPosition, answer: Message) {
        if let Some(result) =
            self.messages.get_mut(position.message).and_then(|message| message.results.get_mut(position.call))
        {
            *result = Some(answer);
        }
    }

    /// Returns the messages, within `max_tokens` if given.
    pub fn finish(mut self, max_tokens: Option<u64>) -> Vec<Message> {
        for (position, answer) in std::mem::take(&mut self.calls).finish() {
            self.set_result(position, answer);
        }
        let mut messages: Vec<Message> =
            self.messages.into_iter().flat_map(MessageWithResults::into_messages).collect();
        if let Some(max) = max_tokens {
            let budget = max.saturating_sub(self.opening.as_ref().map_or(0, Message::tokens));
            messages.drain(..newest_turns(&messages, budget));
        }
        self.opening.into_iter().chain(messages).collect()
    }
}

impl MessageWithResults {
    fn into_messages(self) -> impl Iterator<Item = Message> {
        let MessageWithResults { message, results } = self;
        let ids: Vec<String> = message.tool_calls.iter().map(|call| call.id.clone()).collect();
        let answers = ids.into_iter().zip(results).map(|(id, result)| {
            let unknown = || Message { is_error: true, ..Message::new(MessageRole::Tool, NO_RESULT.to_owned()) };
            Message { tool_call_id: Some(id), ..result.unwrap_or_else(unknown) }
        });
        // Providers reject an empty assistant message.
        let silent = message.content.is_empty() && message.tool_calls.is_empty();
        (!silent).then_some(message).into_iter().chain(answers)
    }
}

/// The position of a call: the index of its message and its index within the message.
#[derive(Debug, Clone, Copy)]
struct CallPosition {
    message: usize,
    call: usize,
}

/// Matches results to calls by the id of the call.
#[derive(Debug, Default)]
struct OpenCalls {
    /// The calls without a result, oldest first, by id. Ids can repeat.
    open: HashMap<String, VecDeque<CallPosition>>,
    /// The first result of each id that arrived before its call, which happens with two concurrent writers.
    early: HashMap<String, Message>,
}

impl OpenCalls {
    fn add_call(&mut self, id: String, position: CallPosition) {
        self.open.entry(id).or_default().push_back(position);
    }

    /// Finds the call of a result. Only the first result of a call counts: later ones were added after a crash by a
    /// writer that did not see the first.
    fn match_result(&mut self, id: String, answer: Message) -> Option<(CallPosition, Message)> {
        match self.open.get_mut(&id) {
            Some(open) => open.pop_front().map(|position| (position, answer)),
            None => {
                self.early.entry(id).or_insert(answer);
                None
            }
        }
    }

    /// Matches early results to calls that got no other result. This must wait until the end, because an early result may
    /// belong to an earlier session: some providers number their calls from the start in each session.
    fn finish(self) -> impl Iterator<Item = (CallPosition, Message)> {
        let OpenCalls { open, mut early } = self;
        open.into_iter().filter_map(move |(id, mut open)| Some((open.pop_front()?, early.remove(&id)?)))
    }
}

/// The index of the first message of the newest turns that cost at most `budget` tokens. A call stays together with its
/// results, because a result never starts a turn.
fn newest_turns(messages: &[Message], budget: u64) -> usize {
    let mut cost = 0u64;
    let mut from = messages.len();
    for (at, message) in messages.iter().enumerate().rev() {
        cost = cost.saturating_add(message.tokens());
        if cost > budget {
            break;
        }
        if at == 0 || message.role == MessageRole::User {
            from = at;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn session(reset_message: Option<&str>) -> Session {
        let mut session: Session = serde_json::from_value(json!({"id": "se-1", "agent_id": "ag-1",
            "opened_by": "reset", "created_at": 0}))
        .expect("a session");
        session.reset_message = reset_message.map(str::to_owned);
        session
    }

    /// Entries from flat records; the number and, unless it is given, the time are the index in the list.
    fn entries(records: &Value) -> Vec<Entry> {
        let records = records.as_array().expect("a list").iter().enumerate();
        let made = records.map(|(at, record)| {
            let mut data = record.as_object().expect("an object").clone();
            let entry_type = data.shift_remove("type");
            let time = data.shift_remove("at").unwrap_or(json!(at + 1));
            let whole =
                json!({"id": at + 1, "session_id": "se-1", "type": entry_type, "at": time, "v": 1, "data": data});
            serde_json::from_value(whole).expect("an entry")
        });
        made.collect()
    }

    fn rebuilt(records: &Value) -> Value {
        json!(context(&session(None), entries(records), None))
    }

    fn user(text: &str) -> Value {
        json!({"type": "user_message", "text": text})
    }

    fn calls(text: &str, ids: &[&str]) -> Value {
        let calls: Vec<Value> = ids.iter().map(|id| json!({"id": id, "name": "run", "arguments": {}})).collect();
        json!({"type": "assistant_message", "text": text, "toolCalls": calls})
    }

    fn result(id: &str, text: &str) -> Value {
        json!({"type": "tool_result", "toolCallId": id, "output": text})
    }

    /// The messages in short: `u1:text`, `a2:text(c,d)`, `t3:c=text`, `t-:c!` for a result that is not known.
    fn short(messages: &Value) -> String {
        let one = |message: &Value| {
            let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
            let entry = message["entry"].as_i64().map_or("-".to_owned(), |id| id.to_string());
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            let calls: Vec<&str> = calls.filter_map(|call| call["id"].as_str()).collect();
            let calls = if calls.is_empty() { String::new() } else { format!("({})", calls.join(",")) };
            match message["role"].as_str() {
                Some("tool") if text("content") == NO_RESULT && message["is_error"] == true => {
                    format!("t{entry}:{}!", text("tool_call_id"))
                }
                Some("tool") => format!("t{entry}:{}={}", text("tool_call_id"), text("content")),
                role => format!("{}{entry}:{}{calls}", &role.expect("a role")[..1], text("content")),
            }
        };
        messages.as_array().expect("a list").iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn json_of_each_kind_of_message() {
        let records = json!([
            {"type": "user_message", "text": "hello", "files": [{"name": "a.txt"}]},
            {"type": "assistant_message", "content": [{"type": "text", "text": "looking"},
                {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a.txt"}},
                {"type": "toolCall", "id": "d", "name": "list", "arguments": {}}]},
            {"type": "tool_result", "toolCallId": "c", "output": {"toolMessage":
                {"toolCallId": "c", "content": [{"type": "text", "text": "no such file"}], "isError": true}}},
            {"type": "assistant_message", "text": "done"},
        ]);
        let expected = json!([
            {"role": "system", "content": "so far"},
            {"role": "user", "content": "hello\n[file: a.txt]", "entry": 1},
            {"role": "assistant", "content": "looking", "tool_calls": [
                {"id": "c", "name": "read", "arguments": {"path": "a.txt"}},
                {"id": "d", "name": "list", "arguments": {}}], "entry": 2},
            {"role": "tool", "content": "no such file", "tool_call_id": "c", "is_error": true, "entry": 3},
            {"role": "tool", "content": NO_RESULT, "tool_call_id": "d", "is_error": true},
            {"role": "assistant", "content": "done", "entry": 4},
        ]);
        let messages = context(&session(Some("so far")), entries(&records), None);
        assert_eq!(json!(messages), expected);
        assert_eq!(serde_json::from_value::<Vec<Message>>(expected).expect("messages"), messages);
    }

    #[test]
    fn opening_message_comes_first() {
        let records = entries(&json!([user("hello")]));
        for opened_by in super::super::OpenedBy::ALL {
            let opened = Session { opened_by, ..session(Some("so far")) };
            assert_eq!(short(&json!(context(&opened, &records, None))), "s-:so far u1:hello", "{opened_by}");
        }
        for nothing in [None, Some("")] {
            assert_eq!(short(&json!(context(&session(nothing), &records, None))), "u1:hello");
        }
        assert_eq!(context(&session(None), Vec::<Entry>::new(), None), []);
    }

    #[test]
    fn order_of_messages_calls_and_results() {
        let rewrite = |at: i64, text: &str| json!({"type": "assistant_rewrite", "assistantAt": at, "text": text});
        let said = |at: i64, text: &str| json!({"type": "assistant_message", "at": at, "text": text});
        let note = json!({"type": "note", "text": "x"});
        let table = [
            (
                "entries stay in order, whatever their times",
                json!([said(9, "a"), said(3, "b"), user("c")]),
                "a1:a a2:b u3:c",
            ),
            ("notes stay out", json!([user("a"), note, user("b")]), "u1:a u3:b"),
            (
                "bookkeeping stays out",
                json!([calls("", &["c"]), {"type": "rlm_start", "toolCallId": "c", "code": "x"},
                    {"type": "rlm_tool_call", "toolCallId": "c", "snapshotId": "s"},
                    {"type": "rlm_tool_result", "toolCallId": "c", "toolResult": "x"},
                    {"type": "rlm_complete", "toolCallId": "c", "output": "x"}, result("c", "ok")]),
                "a1:(c) t6:c=ok",
            ),
            ("types that are not known stay out", json!([{"type": "user_message.v9", "text": "x"}, user("a")]), "u2:a"),
            (
                "what says nothing is no message",
                json!([user(""), said(2, ""), {"type": "user_message"}, user("a")]),
                "u4:a",
            ),
            (
                "a result follows its call",
                json!([calls("a", &["c"]), result("c", "ok"), user("b")]),
                "a1:a(c) t2:c=ok u3:b",
            ),
            (
                "so does one that came late",
                json!([calls("a", &["c"]), user("b"), result("c", "ok")]),
                "a1:a(c) t3:c=ok u2:b",
            ),
            (
                "and one that came early",
                json!([result("c", "ok"), user("b"), calls("a", &["c"])]),
                "u2:b a3:a(c) t1:c=ok",
            ),
            (
                "results stand in the order of the calls",
                json!([calls("", &["c", "d", "e"]), result("e", "3"), result("c", "1"), result("d", "2")]),
                "a1:(c,d,e) t3:c=1 t4:d=2 t2:e=3",
            ),
            (
                "a call without a result gets one",
                json!([calls("", &["c", "d"]), result("d", "2"), user("b")]),
                "a1:(c,d) t-:c! t2:d=2 u3:b",
            ),
            ("also the last", json!([user("a"), calls("", &["c"])]), "u1:a a2:(c) t-:c!"),
            (
                "the first of two results counts",
                json!([calls("", &["c"]), result("c", "1"), result("c", "2")]),
                "a1:(c) t2:c=1",
            ),
            ("of two early ones too", json!([result("c", "1"), result("c", "2"), calls("", &["c"])]), "a3:(c) t1:c=1"),
            (
                "a result after the call goes before an early one",
                json!([result("c", "1"), calls("", &["c"]), result("c", "2")]),
                "a2:(c) t3:c=2",
            ),
            (
                "a result without a call stays out",
                json!([user("a"), result("c", "1"), calls("", &["d"])]),
                "u1:a a3:(d) t-:d!",
            ),
            (
                "a result that names no call stays out",
                json!([{"type": "tool_result", "output": "x"}, user("a")]),
                "u2:a",
            ),
            (
                "of two calls with one id each has its own result",
                json!([calls("a", &["c"]), result("c", "1"), calls("b", &["c"]), result("c", "2")]),
                "a1:a(c) t2:c=1 a3:b(c) t4:c=2",
            ),
            (
                "the first that has none yet takes it",
                json!([calls("a", &["c"]), calls("b", &["c"]), result("c", "1"), result("c", "2"), result("c", "3")]),
                "a1:a(c) t3:c=1 a2:b(c) t4:c=2",
            ),
            (
                "a second result is not kept for a later call",
                json!([calls("a", &["c"]), result("c", "1"), result("c", "2"), calls("b", &["c"])]),
                "a1:a(c) t2:c=1 a4:b(c) t-:c!",
            ),
            (
                "one id twice in a message is one call",
                json!([calls("a", &["c", "c"]), result("c", "1"), result("c", "2")]),
                "a1:a(c) t2:c=1",
            ),
            ("a rewrite replaces the text", json!([said(5, "a"), user("b"), rewrite(5, "A")]), "a1:A u2:b"),
            ("the last rewrite counts", json!([said(5, "a"), rewrite(5, "A"), rewrite(5, "B")]), "a1:B"),
            (
                "calls outlive a rewrite",
                json!([calls("a", &["c"]), result("c", "1"), rewrite(1, "A")]),
                "a1:A(c) t2:c=1",
            ),
            (
                "of one time the last message before it is meant",
                json!([said(5, "a"), said(5, "b"), rewrite(5, "B"), said(5, "c")]),
                "a1:a a2:B a4:c",
            ),
            ("a rewrite of nothing does nothing", json!([rewrite(5, "A"), said(5, "a"), rewrite(6, "B")]), "a2:a"),
            (
                "only an assistant's text is rewritten",
                json!([{"type": "user_message", "at": 5, "text": "a"}, rewrite(5, "A")]),
                "u1:a",
            ),
            ("a rewrite can take all away", json!([said(5, "a"), user("b"), rewrite(5, "")]), "u2:b"),
            ("a rewrite can give a text", json!([said(5, ""), rewrite(5, "A")]), "a1:A"),
            (
                "a malformed entry does not take the rest with it",
                json!([{"type": "user_message", "text": {"deep": []}}, {"type": "assistant_message", "content": 5, "toolCalls": "x"},
                    {"type": "tool_result", "toolCallId": [], "output": {}}, {"type": "assistant_rewrite", "assistantAt": {}}, user("a")]),
                r#"u1:{"deep":[]} a2:5 u5:a"#,
            ),
        ];
        for (name, records, expected) in table {
            assert_eq!(short(&rebuilt(&records)), expected, "{name}");
        }
    }

    #[test]
    fn budget_cuts_at_turn_boundaries() {
        // Tokens: the opening 2, then turns of 1, of 2 + 2, and of `newest`.
        let records = json!([
            {"type": "assistant_message", "text": "hi"},
            user("abcdefgh"), {"type": "assistant_message", "text": "abcde"},
            user("abc"), calls("a", &["c"]), result("c", "ok"),
        ]);
        let last = "u4:abc a5:a(c) t6:c=ok";
        let middle = format!("u2:abcdefgh a3:abcde {last}");
        let messages = context(&session(None), entries(&records), None);
        let costs: Vec<u64> = messages.iter().map(Message::tokens).collect();
        let call = 1 + r#"[{"id":"c","name":"run","arguments":{}}]"#.len();
        assert_eq!(costs, [1, 2, 2, 1, u64::try_from(call.div_ceil(4)).expect("small"), 1]);
        let newest = costs[3..].iter().sum::<u64>();
        let table = [
            (0, String::new()),
            (1 + newest, String::new()),
            (2 + newest, format!(" {last}")),
            (5 + newest, format!(" {last}")),
            (6 + newest, format!(" {middle}")),
            (7 + newest, format!(" a1:hi {middle}")),
            (u64::MAX, format!(" a1:hi {middle}")),
        ];
        for (max, expected) in table {
            let kept = context(&session(Some("so far")), entries(&records), Some(max));
            assert_eq!(short(&json!(kept)), format!("s-:so far{expected}"), "{max}");
        }
        assert_eq!(context(&session(None), entries(&records), Some(0)), []);
    }

    #[test]
    fn turns_before_one_that_does_not_fit_are_left_out() {
        let records = json!([user("a"), user(&"b".repeat(400)), user("c")]);
        assert_eq!(short(&json!(context(&session(None), entries(&records), Some(50)))), "u3:c");
    }

    #[test]
    fn long_session_with_repeated_ids_is_rebuilt_in_linear_time() {
        let one = entries(&json!([calls("a", &["c"]), result("c", "1"), result("c", "2"),
            {"type": "assistant_rewrite", "assistantAt": 1, "text": "b"}]));
        let many = (0..25_000).flat_map(|_| one.iter());
        let messages = context(&session(None), many, Some(u64::MAX));
        assert_eq!(messages.len(), 50_000);
        assert!(messages.chunks(2).all(|pair| pair[0].content == "b" && pair[1].content == "1"));
        // All calls first, all results afterwards.
        let many = std::iter::repeat_n(&one[0], 50_000).chain(std::iter::repeat_n(&one[1], 50_000));
        let messages = context(&session(None), many, None);
        assert_eq!(messages.iter().filter(|message| message.content == "1").count(), 50_000);
    }

    /// JSON of any shape under keys that mean something, so that malformed payloads come close to well-formed ones.
    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0i64..4).prop_map(Value::from),
            prop::sample::select(vec!["", "a", "c", "d", "text", "toolCall", "function", "{}"]).prop_map(Value::from),
            ".{0,4}".prop_map(Value::from),
        ];
        let key = prop::sample::select(vec![
            "text",
            "content",
            "toolCalls",
            "tool_calls",
            "toolCallId",
            "id",
            "name",
            "arguments",
            "type",
            "output",
            "toolMessage",
            "isError",
            "files",
            "assistantAt",
            "function",
            "x",
        ]);
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key.clone(), inner), 0..5).prop_map(|fields| {
                    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
                }),
            ]
        })
    }

    /// A record that is well-formed more often than not, with few ids so that they meet.
    fn any_record() -> impl Strategy<Value = Value> {
        let id = || prop::sample::select(vec!["c", "d", "e"]);
        let text = || prop::sample::select(vec!["", "a", "bcdef", "ghijklmnop"]);
        let kind = prop::sample::select(vec![
            "user_message",
            "assistant_message",
            "tool_result",
            "assistant_rewrite",
            "note",
            "rlm_start",
            "x",
        ]);
        let any = (kind, any_json()).prop_map(|(kind, data)| {
            let mut record = data.as_object().cloned().unwrap_or_default();
            record.insert("type".into(), kind.into());
            Value::from(record)
        });
        prop_oneof![
            2 => text().prop_map(user),
            4 => (text(), prop::collection::vec(id(), 0..4)).prop_map(|(text, ids)| calls(text, &ids)),
            4 => (id(), text()).prop_map(|(id, text)| result(id, text)),
            1 => (0i64..20, text()).prop_map(|(at, text)| json!({"type": "assistant_rewrite", "assistantAt": at, "text": text})),
            2 => any,
        ]
    }

    fn any_records() -> impl Strategy<Value = Value> {
        prop::collection::vec(any_record(), 0..24).prop_map(|mut records| {
            for record in &mut records {
                // The time is the entry's here, whatever the data calls so.
                record.as_object_mut().expect("an object").shift_remove("at");
            }
            Value::from(records)
        })
    }

    proptest! {
        #[test]
        fn every_call_is_followed_by_its_one_result(records in any_records()) {
            let messages = context(&session(None), entries(&records), None);
            let mut rest = messages.iter();
            while let Some(message) = rest.next() {
                prop_assert_ne!(message.role, MessageRole::Tool, "a result without its call");
                for call in &message.tool_calls {
                    let answer = rest.next().expect("a result");
                    prop_assert_eq!(answer.role, MessageRole::Tool);
                    prop_assert_eq!(answer.tool_call_id.as_ref(), Some(&call.id));
                    prop_assert!(answer.entry.is_some() || answer.is_error);
                }
            }
        }

        #[test]
        fn entries_appear_once_and_in_order(records in any_records()) {
            let messages = context(&session(None), entries(&records), None);
            let said = messages.iter().filter(|message| message.role != MessageRole::Tool);
            let said: Vec<i64> = said.filter_map(|message| message.entry).collect();
            prop_assert!(said.is_sorted_by(|a, b| a < b), "{:?}", said);
            let mut all: Vec<i64> = messages.iter().filter_map(|message| message.entry).collect();
            all.sort_unstable();
            prop_assert!(all.is_sorted_by(|a, b| a < b), "{:?}", all);
        }

        #[test]
        fn budget_keeps_the_opening_and_the_newest_turns_that_fit(
            records in any_records(), opening in prop::option::of("[a-z]{1,20}"), max in 0u64..120
        ) {
            let session = session(opening.as_deref());
            let whole = context(&session, entries(&records), None);
            let kept = context(&session, entries(&records), Some(max));
            let head = usize::from(opening.is_some());
            prop_assert_eq!(&kept[..head], &whole[..head]);
            let (kept, whole) = (&kept[head..], &whole[head..]);
            prop_assert!(whole.ends_with(kept));
            let opens = |message: &Message| message.role == MessageRole::User;
            prop_assert!(kept.len() == whole.len() || kept.first().is_none_or(opens), "a turn is whole");
            let cost = |messages: &[Message]| messages.iter().map(Message::tokens).sum::<u64>();
            let room = max.saturating_sub(opening.as_ref().map_or(0, |text| tokens::estimate(text.len())));
            prop_assert!(cost(kept) <= room);
            // One turn more would not have fitted.
            let left = &whole[..whole.len() - kept.len()];
            if !left.is_empty() {
                let turn = left.iter().rposition(opens).unwrap_or(0);
                prop_assert!(cost(&whole[turn..]) > room);
            }
        }
    }
}
