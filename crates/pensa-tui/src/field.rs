//! A line of text that is typed.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A text with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextField {
    text: String,
    /// In bytes, at the boundary of a character.
    cursor: usize,
}

impl TextField {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { cursor: text.len(), text }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Inserts a text at the cursor, as typed or pasted.
    pub(crate) fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    /// Handles a key. Returns false if it means nothing to a text.
    pub(crate) fn press(&mut self, key: KeyEvent) -> bool {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('a') if has_control => self.cursor = 0,
            KeyCode::Char('e') if has_control => self.cursor = self.text.len(),
            KeyCode::Char('u') if has_control => drop(self.text.drain(..std::mem::take(&mut self.cursor))),
            KeyCode::Char('k') if has_control => self.text.truncate(self.cursor),
            KeyCode::Char('w') if has_control => self.cut_word(),
            KeyCode::Char('j') if has_control => self.insert("\n"),
            KeyCode::Char(c) if !has_control && !key.modifiers.contains(KeyModifiers::ALT) => {
                self.insert(c.encode_utf8(&mut [0; 4]));
            }
            KeyCode::Backspace => {
                if let Some(before) = self.before() {
                    self.text.remove(before);
                    self.cursor = before;
                }
            }
            KeyCode::Delete if self.cursor < self.text.len() => drop(self.text.remove(self.cursor)),
            KeyCode::Left => self.cursor = self.before().unwrap_or(0),
            KeyCode::Right => {
                let next = self.text[self.cursor..].chars().next();
                self.cursor += next.map_or(0, char::len_utf8);
            }
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return false,
        }
        true
    }

    fn before(&self) -> Option<usize> {
        self.before_cursor().char_indices().next_back().map(|(at, _)| at)
    }

    fn cut_word(&mut self) {
        let before = self.before_cursor().trim_end();
        let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_edit_a_text_of_any_language() {
        let mut field = TextField::new("grün 日本");
        let mut press = |code: KeyCode, modifiers| field.press(KeyEvent::new(code, modifiers));
        let none = KeyModifiers::NONE;
        press(KeyCode::Backspace, none);
        press(KeyCode::Left, none);
        press(KeyCode::Char('ö'), none);
        assert_eq!(field.text(), "grün ö日");
        field.press(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!((field.text(), field.before_cursor()), ("grün 日", "grün "));
        field.insert("a\nb");
        assert_eq!(field.text(), "grün a\nb日");
        assert!(!field.press(KeyEvent::new(KeyCode::Esc, none)), "not a matter of the text");
    }
}
