//! Made-up entries of conversations, the same ones on every machine.

use serde_json::{Value, json};

use super::data::Dice;

/// What an agent's conversation says, an entry at a time: a question, a call of a tool, its result and an answer, each
/// about 300 bytes of data.
pub(super) struct Conversation {
    dice: Dice,
    number: usize,
}

impl Conversation {
    pub(super) fn new(agent: usize) -> Self {
        Self { dice: Dice::new(agent as u64), number: 0 }
    }

    fn text(&mut self, sentences: usize) -> String {
        (0..sentences).map(|_| self.dice.title()).collect::<Vec<_>>().join(". ")
    }

    fn entry(&mut self) -> Value {
        let turn = self.number / 4;
        let call = format!("call_{turn:08}");
        self.number += 1;
        match self.number % 4 {
            1 => json!({"type": "user_message", "data": {"role": "user", "content": self.text(5)}}),
            2 => {
                json!({"type": "assistant_message", "data": {"role": "assistant", "content": self.text(2), "tool_calls": [
                {"id": call, "name": "run", "arguments": {"command": self.text(1), "timeout": 60}}]}})
            }
            3 => json!({"type": "tool_result", "data": {"role": "tool", "tool_call_id": call, "output": self.text(4)}}),
            _ => json!({"type": "assistant_message", "data": {"role": "assistant", "content": self.text(5)}}),
        }
    }

    pub(super) fn next(&mut self, count: usize) -> Vec<Value> {
        (0..count).map(|_| self.entry()).collect()
    }

    /// The next entries, one a line.
    pub(super) fn lines(&mut self, count: usize) -> String {
        self.next(count).iter().map(|entry| format!("{entry}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_the_same_each_time_and_has_entries_of_the_usual_size() {
        let entries = Conversation::new(3).next(400);
        assert_eq!(entries, Conversation::new(3).next(400));
        let bytes: usize = entries.iter().map(|entry| entry["data"].to_string().len()).sum();
        assert!((250..350).contains(&(bytes / entries.len())), "{}", bytes / entries.len());
        let kinds: Vec<&str> = entries[..4].iter().filter_map(|entry| entry["type"].as_str()).collect();
        assert_eq!(kinds, ["user_message", "assistant_message", "tool_result", "assistant_message"]);
        assert_eq!(entries[1]["data"]["tool_calls"][0]["id"], entries[2]["data"]["tool_call_id"]);
    }
}
