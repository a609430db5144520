//! Renders the pages of sessions: the list, and one conversation.
