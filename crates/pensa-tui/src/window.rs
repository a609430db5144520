//! Draws the window: the views by name, the view or page that is read, what is over it, and what to know below.

use std::time::Instant;

use pensa_core::Timestamp;
use pensa_core::text::printable_line;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Block, Clear, Widget};

use crate::app::{App, OutputPage, Overlay, WindowAreas};
use crate::field::TextField;
use crate::form::IssueForm;
use crate::keys::ViewKind;
use crate::picker::Picker;
use crate::prompt::{Prompt, PromptPurpose};
use crate::rows::{Look, Piece, draw_line, piece};
use crate::text::{clip, columns, padded, wrapped};
use crate::theme::{Tone, borders};

/// What a new user reads first.
const GUIDE: [&str; 12] = [
    "Issues, agents and memory of this project, live.",
    "",
    "1 to 9, Tab      the views",
    "arrows, h j k l  move the cursor",
    "Enter            read an issue",
    "n c d            create, claim, close",
    "> and <          move a card on, or back",
    "u U              undo, redo",
    "/                filter          :  find any command",
    "?                all keys of a view",
    "q                back; at the top, quit",
    "",
];

pub(crate) fn draw(app: &App, frame: &mut Frame<'_>, at: Instant, now: Timestamp) {
    let look = Look { theme: app.options.theme, is_ascii: app.options.is_ascii, now, at, marks: &app.marks };
    let area = frame.area();
    if area.height < 4 || area.width < 10 {
        return;
    }
    let [top, summary, body, bottom] =
        Layout::vertical([Constraint::Length(1), Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(area);
    let buffer = frame.buffer_mut();
    let tabs = draw_tabs(app, buffer, top, &look);
    let mut areas = WindowAreas { body, detail: Rect::default(), tabs };
    draw_summary(app, buffer, summary, &look);
    match &app.detail {
        Some(pane) if app.is_beside() => {
            let [left, right] = Layout::horizontal([Constraint::Fill(11), Constraint::Fill(9)]).areas(body);
            app.view().draw(buffer, left, &look, app.overlay.is_none());
            let line = if look.is_ascii { "|" } else { "│" };
            (right.top()..right.bottom()).for_each(|y| buffer.set_string(right.x, y, line, look.style(Tone::Border)));
            let page = Rect { x: right.x + 2, width: right.width.saturating_sub(2), ..right };
            pane.draw(buffer, page, &look);
            (areas.body, areas.detail) = (left, right);
        }
        Some(pane) => {
            pane.draw(buffer, body, &look);
            areas.detail = body;
        }
        None => app.view().draw(buffer, body, &look, app.overlay.is_none()),
    }
    app.areas.set(areas);
    draw_bottom(app, buffer, bottom, &look);
    let cursor = match &app.overlay {
        Some(Overlay::Prompt(prompt)) if prompt.purpose == PromptPurpose::Filter => {
            let taken = 1 + draw_state(app, buffer, summary, &look);
            let room = Rect { x: summary.x + 1, width: summary.width.saturating_sub(taken), ..summary };
            Some(draw_field(&prompt.field, buffer, room, &look))
        }
        Some(Overlay::Prompt(prompt)) => draw_prompt(prompt, buffer, body, &look),
        Some(Overlay::Form(form)) => draw_form(form, buffer, body, &look),
        Some(Overlay::Picker(picker)) => draw_picker(picker, buffer, body, &look),
        Some(Overlay::Output(page)) => {
            draw_output(page, buffer, body, &look);
            None
        }
        Some(Overlay::Help(scroll)) => {
            draw_help(app, *scroll, buffer, Rect { y: summary.y, height: summary.height + body.height, ..body }, &look);
            None
        }
        Some(Overlay::Guide) => {
            draw_guide(buffer, body, &look);
            None
        }
        None => None,
    };
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
}

fn draw_tabs(app: &App, buffer: &mut Buffer, area: Rect, look: &Look<'_>) -> [u16; 9] {
    let mut ends = [0; 9];
    let is_wide = area.width >= 76;
    let mut x = area.x;
    for (at, (kind, name)) in ViewKind::ALL.into_iter().enumerate() {
        let is_current = kind == app.current;
        let text = if is_wide || is_current { format!("{} {name}", at + 1) } else { (at + 1).to_string() };
        let tone = if is_current { Tone::Accent } else { Tone::Faint };
        let mut style = look.style(tone);
        if is_current {
            style = style.add_modifier(Modifier::UNDERLINED);
        }
        let room = usize::from(area.right().saturating_sub(x));
        let (end, _) = buffer.set_stringn(x, area.y, &text, room, style);
        ends[at] = end;
        x = end.saturating_add(1);
    }
    ends
}

fn draw_summary(app: &App, buffer: &mut Buffer, area: Rect, look: &Look<'_>) {
    let is_typing = matches!(&app.overlay, Some(Overlay::Prompt(prompt)) if prompt.purpose == PromptPurpose::Filter);
    let line = if is_typing {
        vec![piece("/", Tone::Accent)]
    } else if app.filter().is_empty() {
        vec![piece(app.view().summary(), Tone::Faint)]
    } else {
        let about = format!("(esc clears) {}", app.view().summary());
        vec![piece(format!("/{} ", app.filter()), Tone::Accent), piece(about, Tone::Faint)]
    };
    let room = area.width.saturating_sub(draw_state(app, buffer, area, look));
    draw_line(buffer, Rect { width: room, ..area }, &line, look);
}

/// Draws on the right what the project is called and whether its store can be reached. Returns the columns it takes.
fn draw_state(app: &App, buffer: &mut Buffer, area: Rect, look: &Look<'_>) -> u16 {
    let (state, tone) = if app.lost.is_some() { ("lost", Tone::Bad) } else { ("live", Tone::Good) };
    // A narrow window has room for the state only.
    let most = usize::from(area.width / 4).saturating_sub(state.len() + 1);
    let name = if area.width < 60 { String::new() } else { clip(&app.options.project, most) };
    let line = [piece(format!(" {name} "), Tone::Faint), piece(state, tone)];
    let width = line.iter().map(|(text, _)| columns(text)).sum::<usize>();
    let width = u16::try_from(width).unwrap_or(u16::MAX).min(area.width);
    draw_line(buffer, Rect { x: area.right() - width, width, ..area }, &line, look);
    width
}

fn draw_bottom(app: &App, buffer: &mut Buffer, area: Rect, look: &Look<'_>) {
    let line: Vec<Piece> = if let Some(note) = &app.note {
        vec![piece(note.text.clone(), note.tone)]
    } else if matches!(app.overlay, Some(Overlay::Help(_))) {
        vec![piece("the keys of this view; j and k show more of them, q closes", Tone::Faint)]
    } else if let Some(error) = &app.lost {
        let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        vec![piece(format!("{}{hint}; trying again", error.message), Tone::Bad)]
    } else {
        let mut line = Vec::new();
        if !app.marks.is_empty() {
            line.push(piece(format!("{} marked", app.marks.len()), Tone::Accent));
        }
        let wanted = ["help", "filter", "palette", "create", "claim", "close", "move", "undo", "quit"];
        let keys = app.options.keys.of_view(app.current);
        for (key, verb, _) in wanted.iter().filter_map(|verb| keys.iter().find(|(_, known, _)| known == verb)) {
            let gap = if line.is_empty() { "" } else { "  " };
            line.push(piece(format!("{gap}{key} "), Tone::Strong));
            line.push(piece(*verb, Tone::Faint));
        }
        line
    };
    draw_line(buffer, area, &line, look);
}

/// Draws a text that is typed. Returns where its cursor is.
fn draw_field(field: &TextField, buffer: &mut Buffer, area: Rect, look: &Look<'_>) -> Position {
    let shown = |text: &str| printable_line(&text.replace('\n', "⏎"));
    let room = usize::from(area.width).saturating_sub(1);
    let before = shown(field.before_cursor());
    let mut skipped = 0;
    let mut start = before.as_str();
    while columns(start) > room {
        let next = start.chars().next().map_or(1, char::len_utf8);
        skipped += next;
        start = &before[skipped..];
    }
    let rest = shown(&field.text()[field.before_cursor().len()..]);
    draw_line(buffer, area, &[piece(format!("{start}{rest}"), Tone::Plain)], look);
    let x = u16::try_from(columns(start)).unwrap_or_default();
    Position::new(area.x + x.min(area.width.saturating_sub(1)), area.y)
}

/// Clears a place in the middle, draws a border, and returns what is inside.
fn open_box(title: &str, (width, height): (u16, u16), buffer: &mut Buffer, area: Rect, look: &Look<'_>) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let x = area.x + (area.width - width) / 2;
    let place = Rect { x, y: area.y + (area.height - height) / 3, width, height };
    Clear.render(place, buffer);
    let title =
        padded(&format!(" {title} "), columns(title).saturating_add(2).min(usize::from(width.saturating_sub(4))));
    let block = Block::bordered().border_set(borders(look.is_ascii)).border_style(look.style(Tone::Border));
    let block = block.title(title).title_style(look.style(Tone::Accent));
    let inner = block.inner(place);
    block.render(place, buffer);
    Rect { x: inner.x + 1.min(inner.width), width: inner.width.saturating_sub(2), ..inner }
}

fn row(area: Rect, at: u16) -> Option<Rect> {
    (at < area.height).then(|| Rect { y: area.y + at, height: 1, ..area })
}

fn draw_error(error: Option<&pensa_core::Error>, buffer: &mut Buffer, area: Rect, mut at: u16, look: &Look<'_>) {
    let Some(error) = error else { return };
    let width = usize::from(area.width);
    let lines = wrapped(&error.message, width).into_iter().map(|line| piece(line, Tone::Bad));
    let hints = error.hint.iter().flat_map(|hint| wrapped(hint, width)).map(|line| piece(line, Tone::Faint));
    for line in lines.chain(hints) {
        if let Some(place) = row(area, at) {
            draw_line(buffer, place, &[line], look);
        }
        at += 1;
    }
}

fn draw_prompt(prompt: &Prompt, buffer: &mut Buffer, body: Rect, look: &Look<'_>) -> Option<Position> {
    let inside = open_box(&prompt.title(), (72, 7), buffer, body, look);
    let cursor = row(inside, 0).map(|place| draw_field(&prompt.field, buffer, place, look));
    if let (Some(place), None) = (row(inside, 1), &prompt.error) {
        let hint = if prompt.ticket.is_some() { "sent …" } else { prompt.hint() };
        draw_line(buffer, place, &[piece(hint, Tone::Faint)], look);
    }
    draw_error(prompt.error.as_ref(), buffer, inside, 1, look);
    cursor
}

fn draw_form(form: &IssueForm, buffer: &mut Buffer, body: Rect, look: &Look<'_>) -> Option<Position> {
    let count = u16::try_from(form.fields.len()).unwrap_or_default();
    let inside = open_box(&form.title(), (76, count + 7), buffer, body, look);
    // In a low window the fields around the cursor are drawn.
    let first = form.current.saturating_sub(usize::from(inside.height.saturating_sub(3)));
    let mut cursor = None;
    let mut at = 0;
    for (number, (name, field)) in form.fields.iter().enumerate().skip(first) {
        let Some(place) = row(inside, at) else { break };
        let is_current = number == form.current;
        let tone = if is_current { Tone::Accent } else { Tone::Faint };
        draw_line(buffer, place, &[piece(padded(name.name(), 12), tone)], look);
        let room = Rect { x: place.x + 12.min(place.width), width: place.width.saturating_sub(12), ..place };
        if room.is_empty() {
            continue;
        }
        let position = draw_field(field, buffer, room, look);
        cursor = if is_current { Some(position) } else { cursor };
        at += 1;
    }
    at += 1;
    if form.error.is_some() {
        draw_error(form.error.as_ref(), buffer, inside, at, look);
        return cursor;
    }
    let hint = if form.ticket.is_some() { "sent …" } else { "enter saves, tab goes on, esc leaves" };
    let mut lines = vec![piece(hint, Tone::Faint)];
    lines.extend(form.similar.iter().map(|one| piece(format!("similar: {} {}", one.id, one.title), Tone::High)));
    for line in lines {
        if let Some(place) = row(inside, at) {
            draw_line(buffer, place, &[line], look);
        }
        at += 1;
    }
    cursor
}

fn draw_picker(picker: &Picker, buffer: &mut Buffer, body: Rect, look: &Look<'_>) -> Option<Position> {
    let inside = open_box(&picker.title(), (76, 18), buffer, body, look);
    let cursor = row(inside, 0).map(|place| draw_field(&picker.field, buffer, place, look));
    let shown = picker.shown();
    let room = usize::from(inside.height.saturating_sub(1)).max(1);
    let first = (picker.current + 1).saturating_sub(room);
    for (line, (at, (text, _))) in (1..).zip(shown.iter().enumerate().skip(first).take(room)) {
        let Some(place) = row(inside, line) else { break };
        let marker = if at == picker.current { "> " } else { "  " };
        draw_line(buffer, place, &[piece(marker, Tone::Accent), piece(text.clone(), Tone::Plain)], look);
        if at == picker.current {
            buffer.set_style(place, look.theme.selected(true));
        }
    }
    cursor
}

/// The end of an output, or a part above it.
fn draw_output(page: &OutputPage, buffer: &mut Buffer, body: Rect, look: &Look<'_>) {
    let inside = open_box(page.of.title(), (body.width, body.height), buffer, body, look);
    let lines = wrapped(&page.text, usize::from(inside.width));
    let room = usize::from(inside.height);
    let end = lines.len().saturating_sub(page.above_end).max(room.min(lines.len()));
    let shown = lines[end.saturating_sub(room)..end].iter();
    for (place, line) in (0..inside.height).filter_map(|at| row(inside, at)).zip(shown) {
        draw_line(buffer, place, &[piece(line.clone(), Tone::Plain)], look);
    }
}

/// The keys of the view, one a line.
fn draw_help(app: &App, scroll: usize, buffer: &mut Buffer, area: Rect, look: &Look<'_>) {
    Clear.render(area, buffer);
    let keys = app.options.keys.of_view(app.current);
    let room = usize::from(area.height);
    let first = scroll.min(keys.len().saturating_sub(room));
    for (y, (key, verb, _)) in (area.top()..area.bottom()).zip(keys.iter().skip(first)) {
        let line = [piece(padded(key, 12), Tone::Strong), piece(*verb, Tone::Plain)];
        draw_line(buffer, Rect { y, height: 1, ..area }, &line, look);
    }
}

fn draw_guide(buffer: &mut Buffer, body: Rect, look: &Look<'_>) {
    let height = u16::try_from(GUIDE.len()).unwrap_or_default() + 3;
    let inside = open_box("Welcome to Pensa", (60, height), buffer, body, look);
    // In a low window the last line, which says how to go on, stays.
    let room = inside.height.saturating_sub(1);
    for (at, text) in (0..room).zip(GUIDE) {
        if let Some(place) = row(inside, at) {
            draw_line(buffer, place, &[piece(text, Tone::Plain)], look);
        }
    }
    if let Some(place) = row(inside, room.min(u16::try_from(GUIDE.len()).unwrap_or_default())) {
        draw_line(buffer, place, &[piece("Enter or Esc closes this", Tone::Accent)], look);
        buffer.set_style(place, Style::new());
    }
}
