//! What keys, pasted texts and the mouse do: to what is over a view, else as commands.

use pensa_core::id::IssueId;
use pensa_core::ops::issue::Update;
use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use super::{App, Effect, OutputPage, Overlay};
use crate::form::{FormField, IssueForm};
use crate::keys::{UserCommand, ViewKind};
use crate::picker::{Choice, Picker, PickerPurpose};
use crate::prompt::{Prompt, PromptPurpose};
use crate::rows::{Motion, RowSubject};
use crate::store::{StoreChange, StoreQuery};

impl App {
    pub(super) fn input(&mut self, event: Event) {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Event::Paste(text) => self.paste(&text),
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Resize(width, height) => {
                self.size = (width, height);
                let context = self.context();
                self.views.iter_mut().for_each(|view| view.resize(&context));
            }
            _ => {}
        }
    }

    fn key(&mut self, key: KeyEvent) {
        if self.note.as_ref().is_some_and(|note| note.until.is_none()) {
            self.note = None;
        }
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            self.effects.push(Effect::Quit);
            return;
        }
        match self.overlay.take() {
            Some(Overlay::Prompt(prompt)) => self.prompt_key(prompt, key),
            Some(Overlay::Form(form)) => self.form_key(form, key),
            Some(Overlay::Picker(picker)) => self.picker_key(picker, key),
            Some(Overlay::Output(page)) => self.output_key(page, key),
            Some(Overlay::Help(scroll)) => self.help_key(scroll, key),
            Some(Overlay::Guide) if matches!(key.code, KeyCode::Enter | KeyCode::Esc) => {
                self.effects.push(Effect::GuideRead);
            }
            Some(Overlay::Guide) => self.overlay = Some(Overlay::Guide),
            None => {
                if let Some(command) = self.options.keys.find(key, self.current) {
                    self.command(command);
                }
            }
        }
    }

    fn prompt_key(&mut self, mut prompt: Prompt, key: KeyEvent) {
        let is_filter = prompt.purpose == PromptPurpose::Filter;
        match key.code {
            KeyCode::Esc if is_filter => self.set_filter(""),
            KeyCode::Esc => {}
            KeyCode::Enter if is_filter => {}
            KeyCode::Enter if prompt.ticket.is_some() => self.overlay = Some(Overlay::Prompt(prompt)),
            KeyCode::Enter => self.submit(prompt),
            _ => {
                prompt.field.press(key);
                let text = prompt.field.text().to_owned();
                self.overlay = Some(Overlay::Prompt(prompt));
                if is_filter {
                    self.set_filter(&text);
                }
            }
        }
    }

    fn submit(&mut self, mut prompt: Prompt) {
        let text = prompt.field.text().trim().to_owned();
        match &prompt.purpose {
            PromptPurpose::Run if text.is_empty() => return,
            PromptPurpose::Run => {
                let command = self.options.run_commands.get(&text).cloned().unwrap_or(text);
                return self.effects.push(Effect::Run(prompt.issues, command));
            }
            PromptPurpose::Forget => {
                if let (Some(RowSubject::Learning(id)), "yes" | "y") = (self.subject(), text.as_str()) {
                    self.change(vec![StoreChange::Forget(id)]);
                }
                return;
            }
            _ => {}
        }
        match prompt.changes() {
            Ok(changes) => prompt.ticket = self.change(changes),
            Err(error) => prompt.error = Some(error),
        }
        if prompt.ticket.is_some() || prompt.error.is_some() {
            self.overlay = Some(Overlay::Prompt(prompt));
        }
    }

    pub(super) fn set_filter(&mut self, text: &str) {
        text.clone_into(&mut self.filters[self.current.index()]);
        if self.view_mut().set_filter(text) {
            self.refresh();
        }
    }

    fn form_key(&mut self, mut form: IssueForm, key: KeyEvent) {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return,
            KeyCode::Enter if form.ticket.is_none() => return self.submit_form(form),
            KeyCode::Char('s') if has_control && form.ticket.is_none() => return self.submit_form(form),
            KeyCode::Tab | KeyCode::Down => form.go(1),
            KeyCode::BackTab | KeyCode::Up => form.go(-1),
            _ => {
                let is_new = form.issue.is_none();
                let title = form.field_mut().and_then(|(name, field)| {
                    field.press(key);
                    (is_new && *name == FormField::Title).then(|| field.text().to_owned())
                });
                if let Some(title) = title {
                    self.ask(StoreQuery::Similar { title });
                }
            }
        }
        self.overlay = Some(Overlay::Form(form));
    }

    fn submit_form(&mut self, mut form: IssueForm) {
        match form.change() {
            Ok(Some(change)) => form.ticket = self.change(vec![change]),
            Ok(None) => return self.tell("nothing was changed"),
            Err(error) => form.error = Some(error),
        }
        self.overlay = Some(Overlay::Form(form));
    }

    fn picker_key(&mut self, mut picker: Picker, key: KeyEvent) {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return,
            KeyCode::Enter => return self.choose(&picker),
            KeyCode::Up | KeyCode::BackTab => picker.go(-1),
            KeyCode::Down | KeyCode::Tab => picker.go(1),
            KeyCode::PageUp => picker.go(-10),
            KeyCode::PageDown => picker.go(10),
            KeyCode::Char('p') if has_control => picker.go(-1),
            KeyCode::Char('n') if has_control => picker.go(1),
            _ => {
                picker.field.press(key);
                picker.current = 0;
                let text = picker.field.text().to_owned();
                self.ask(StoreQuery::Find { text });
            }
        }
        self.overlay = Some(Overlay::Picker(picker));
    }

    fn choose(&mut self, picker: &Picker) {
        let Some(choice) = picker.chosen() else { return };
        match (&picker.purpose, choice) {
            (PickerPurpose::Palette, Choice::Command(command)) => self.command(command),
            (PickerPurpose::Palette, Choice::Issue(id)) => self.open_issue(id),
            (PickerPurpose::Parent(issues), Choice::Issue(parent)) => {
                let update = |id: &IssueId| Update { parent: Some((&parent).into()), ..Update::of(id.into()) };
                let changes = issues.iter().map(|id| StoreChange::Update(Box::new(update(id)))).collect();
                self.change(changes);
            }
            (PickerPurpose::Depend(issues), Choice::Issue(on)) => {
                let changes = issues.iter().map(|id| StoreChange::AddDep(id.clone(), on.clone())).collect();
                self.change(changes);
            }
            _ => {}
        }
    }

    fn output_key(&mut self, mut page: OutputPage, key: KeyEvent) {
        let by = match self.options.keys.find(key, self.current) {
            Some(UserCommand::Step(Motion::Up)) => 1,
            Some(UserCommand::Step(Motion::Down)) => -1,
            Some(UserCommand::Step(Motion::PageUp)) => 10,
            Some(UserCommand::Step(Motion::PageDown)) => -10,
            Some(UserCommand::Step(Motion::Top)) => isize::MAX,
            Some(UserCommand::Step(Motion::Bottom)) => isize::MIN,
            Some(UserCommand::Back | UserCommand::Quit | UserCommand::Open) => return,
            _ => 0,
        };
        let lines = page.text.lines().count();
        page.above_end = page.above_end.saturating_add_signed(by).min(lines);
        self.overlay = Some(Overlay::Output(page));
    }

    fn help_key(&mut self, scroll: usize, key: KeyEvent) {
        let scroll = match self.options.keys.find(key, self.current) {
            Some(UserCommand::Step(Motion::Up)) => scroll.saturating_sub(1),
            Some(UserCommand::Step(Motion::Down)) => scroll + 1,
            Some(UserCommand::Step(Motion::PageUp)) => scroll.saturating_sub(10),
            Some(UserCommand::Step(Motion::PageDown)) => scroll + 10,
            Some(UserCommand::Step(Motion::Top)) => 0,
            Some(UserCommand::Step(Motion::Bottom)) => usize::MAX / 2,
            Some(UserCommand::Back | UserCommand::Quit | UserCommand::Help | UserCommand::Open) => return,
            _ => scroll,
        };
        self.overlay = Some(Overlay::Help(scroll));
    }

    fn paste(&mut self, text: &str) {
        let line = || text.split_whitespace().collect::<Vec<_>>().join(" ");
        match &mut self.overlay {
            Some(Overlay::Prompt(prompt)) => {
                let takes_lines = prompt.purpose == PromptPurpose::Comment;
                prompt.field.insert(&if takes_lines { text.replace('\r', "\n") } else { line() });
                if prompt.purpose == PromptPurpose::Filter {
                    let text = prompt.field.text().to_owned();
                    self.set_filter(&text);
                }
            }
            Some(Overlay::Form(form)) => {
                if let Some((name, field)) = form.field_mut() {
                    let takes_lines = *name == FormField::Description;
                    field.insert(&if takes_lines { text.replace('\r', "\n") } else { line() });
                }
            }
            Some(Overlay::Picker(picker)) => {
                picker.field.insert(&line());
                let text = picker.field.text().to_owned();
                self.ask(StoreQuery::Find { text });
            }
            _ => self.tell("nothing takes text here: n creates an issue"),
        }
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        if self.overlay.is_some() {
            return;
        }
        let (x, y) = (mouse.column, mouse.row);
        let areas = self.areas.get();
        let is_in_detail = self.detail.is_some() && areas.detail.contains((x, y).into());
        match mouse.kind {
            MouseEventKind::ScrollUp => self.wheel(is_in_detail, Motion::Up),
            MouseEventKind::ScrollDown => self.wheel(is_in_detail, Motion::Down),
            MouseEventKind::Down(MouseButton::Left) if y == 0 => {
                if let Some(at) = areas.tabs.iter().position(|end| x < *end) {
                    self.command(UserCommand::View(ViewKind::ALL[at].0));
                }
            }
            MouseEventKind::Down(MouseButton::Left) if areas.body.contains((x, y).into()) && !is_in_detail => {
                let before = self.subject();
                if self.view_mut().click(areas.body, x, y) {
                    let is_again = self.pressed == Some((x, y)) && before == self.subject();
                    self.pressed = Some((x, y));
                    self.follow_selection();
                    if is_again {
                        self.command(UserCommand::Open);
                    }
                }
            }
            MouseEventKind::Up(MouseButton::Left)
                if self.pressed.is_some_and(|(from, _)| from.abs_diff(x) > 1) && areas.body.contains((x, y).into()) =>
            {
                self.pressed = None;
                let changes = self.view().dropped(areas.body, x);
                self.move_issue(changes);
            }
            _ => {}
        }
    }

    fn wheel(&mut self, is_in_detail: bool, motion: Motion) {
        for _ in 0..3 {
            match &self.detail {
                Some(pane) if is_in_detail => pane.scroll(motion),
                _ => self.command(UserCommand::Step(motion)),
            }
        }
    }
}
