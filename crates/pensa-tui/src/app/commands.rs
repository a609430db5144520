//! What the commands do that a person gives with keys or in the palette.

use pensa_core::id::IssueId;
use pensa_core::{Error, Result};

use super::{App, Effect, OutputPage, Overlay, PendingEdit};
use crate::detail::DetailPane;
use crate::form::IssueForm;
use crate::keys::{UserCommand, ViewKind};
use crate::picker::{Choice, Picker, PickerPurpose};
use crate::prompt::{Prompt, PromptPurpose};
use crate::rows::{Motion, RowSubject};
use crate::store::{OutputOf, StoreChange, StoreQuery};

impl App {
    pub(super) fn command(&mut self, command: UserCommand) {
        let context = self.context();
        let is_over = self.detail.is_some() && !self.is_beside();
        if !(is_over && command == UserCommand::Numbers)
            && let Some(is_stale) = self.view_mut().command(command, &context)
        {
            if is_stale {
                self.refresh();
            }
            return;
        }
        match command {
            UserCommand::View(kind) => self.show(kind),
            UserCommand::NextView => self.show(ViewKind::ALL[(self.current.index() + 1) % 9].0),
            UserCommand::PreviousView => self.show(ViewKind::ALL[(self.current.index() + 8) % 9].0),
            UserCommand::Step(motion) => self.step(motion),
            UserCommand::Back => drop(self.back()),
            UserCommand::Quit => {
                if !self.back() {
                    self.effects.push(Effect::Quit);
                }
            }
            UserCommand::Help => self.overlay = Some(Overlay::Help(0)),
            UserCommand::Filter => {
                let prompt = Prompt::new(PromptPurpose::Filter, Vec::new(), self.filter());
                self.overlay = Some(Overlay::Prompt(prompt));
            }
            UserCommand::Palette => self.open_palette(),
            UserCommand::Theme => {
                let (name, theme) = self.options.theme.next();
                self.options.theme = theme;
                self.tell(format!("theme {name}"));
            }
            UserCommand::Reload => {
                self.effects.push(Effect::Redraw);
                self.refresh();
            }
            UserCommand::Suspend => self.effects.push(Effect::Suspend),
            UserCommand::Create => self.overlay = Some(Overlay::Form(IssueForm::create(None))),
            UserCommand::Undo => {
                let event = match self.subject() {
                    Some(RowSubject::Event(number, _)) => Some(number),
                    _ => None,
                };
                self.change(vec![StoreChange::Undo(event)]);
            }
            UserCommand::Redo => drop(self.change(vec![StoreChange::Redo])),
            UserCommand::Open => self.open(),
            UserCommand::Copy => {
                if let Some(id) = self.targets().first().map(ToString::to_string).or_else(|| Some(self.subject()?.id()))
                {
                    self.tell(format!("copied {id}"));
                    self.effects.push(Effect::Copy(id));
                }
            }
            UserCommand::Verify => {
                if let Some(RowSubject::Learning(id)) = self.subject() {
                    self.change(vec![StoreChange::Verify(id)]);
                }
            }
            UserCommand::Supersede => match self.view().kept() {
                Some(change) => drop(self.change(vec![change])),
                None => {
                    self.complain(&Error::invalid("select the learning of two in conflict that holds; f lists them"))
                }
            },
            UserCommand::Forget => {
                if let Some(RowSubject::Learning(_)) = self.subject() {
                    self.overlay = Some(Overlay::Prompt(Prompt::new(PromptPurpose::Forget, Vec::new(), "")));
                }
            }
            UserCommand::Signal => match self.subject() {
                Some(subject @ RowSubject::Other("agent" | "run" | "loop", _)) => {
                    let prompt = Prompt::new(PromptPurpose::Signal(subject.id()), Vec::new(), "");
                    self.overlay = Some(Overlay::Prompt(prompt));
                }
                _ => self.complain(&Error::invalid("select an agent, a run or a loop to signal")),
            },
            command => self.issue_command(command),
        }
    }

    /// Commands on the issues that are meant.
    fn issue_command(&mut self, command: UserCommand) {
        let targets = self.targets();
        let Some(first) = targets.first().cloned() else {
            return self.complain(&Error::invalid("no issue is selected"));
        };
        let mut ask = |purpose, text: &str| {
            self.overlay = Some(Overlay::Prompt(Prompt::new(purpose, targets.clone(), text)));
        };
        match command {
            UserCommand::Close => ask(PromptPurpose::Close, ""),
            UserCommand::Reopen => ask(PromptPurpose::Reopen, ""),
            UserCommand::Comment => ask(PromptPurpose::Comment, ""),
            UserCommand::Priority => ask(PromptPurpose::Priority, ""),
            UserCommand::Assign => ask(PromptPurpose::Assign, ""),
            UserCommand::Label => ask(PromptPurpose::Label, ""),
            UserCommand::Run => {
                // The only command that has a name is probably meant.
                let names: Vec<&String> = self.options.run_commands.keys().collect();
                let name = if let [one] = &names[..] { one.as_str() } else { "" };
                self.overlay = Some(Overlay::Prompt(Prompt::new(PromptPurpose::Run, targets, name)));
            }
            UserCommand::Parent => self.open_picker(PickerPurpose::Parent(targets)),
            UserCommand::Depend => self.open_picker(PickerPurpose::Depend(targets)),
            UserCommand::Claim => drop(self.change(targets.iter().map(StoreChange::claim).collect())),
            UserCommand::Release => drop(self.change(targets.into_iter().map(StoreChange::Release).collect())),
            UserCommand::MoveOn | UserCommand::MoveBack => {
                let on = command == UserCommand::MoveOn;
                let changes = self.row().map_or_else(|| Ok(Vec::new()), |row| self.view().moved(row, on));
                self.move_issue(changes);
            }
            UserCommand::Mark => {
                self.mark();
                self.step(Motion::Down);
            }
            UserCommand::Edit => {
                self.pending_edit = Some(PendingEdit::Form(first.clone()));
                self.ask(StoreQuery::Detail(first));
            }
            UserCommand::Editor => {
                self.pending_edit = Some(PendingEdit::Editor(first.clone()));
                self.ask(StoreQuery::Detail(first));
            }
            UserCommand::Tree => {
                let tree = &mut self.views[ViewKind::Tree.index()];
                tree.focus(&RowSubject::Issue(first));
                self.detail = None;
                self.show(ViewKind::Tree);
            }
            UserCommand::Numbers => {
                if self.detail.is_none() {
                    self.open_issue(first);
                }
                if let Some(pane) = &mut self.detail {
                    pane.has_numbers = !pane.has_numbers;
                }
            }
            _ => {}
        }
    }

    /// Marks what the cursor is on, or takes its mark away.
    fn mark(&mut self) {
        if let Some(id) = self.subject().and_then(|subject| subject.issue().cloned())
            && !self.marks.remove(&id)
        {
            self.marks.insert(id);
        }
    }

    pub(super) fn move_issue(&mut self, changes: Result<Vec<StoreChange>>) {
        match changes {
            Ok(changes) => {
                self.moving = self.subject().map(|subject| subject.id());
                self.change(changes);
            }
            Err(error) => self.complain(&error),
        }
    }

    fn show(&mut self, kind: ViewKind) {
        if kind != self.current {
            self.current = kind;
            if !self.is_beside() {
                self.detail = None;
            }
        }
        self.refresh();
    }

    fn step(&mut self, motion: Motion) {
        let is_page = matches!(motion, Motion::PageUp | Motion::PageDown);
        let is_beside = self.is_beside();
        if let Some(pane) = &self.detail
            && (!is_beside || is_page)
        {
            pane.scroll(motion);
            return;
        }
        if self.view_mut().step(motion) {
            self.refresh();
        }
        self.follow_selection();
    }

    /// The page beside the view is that of the selected issue.
    pub(super) fn follow_selection(&mut self) {
        if !self.is_beside() {
            return;
        }
        let selected = self.subject().and_then(|subject| subject.issue().cloned());
        if let (Some(pane), Some(id)) = (&mut self.detail, selected)
            && pane.id != id
        {
            pane.turn_to(id.clone());
            self.ask(StoreQuery::Detail(id));
        }
    }

    fn open(&mut self) {
        match self.subject() {
            Some(RowSubject::Session(_)) => {
                if let Some(subject) = self.subject() {
                    self.view_mut().focus(&subject);
                    self.refresh();
                }
            }
            Some(RowSubject::Other("job", id)) => self.open_output(OutputOf::Job(id)),
            Some(RowSubject::Other("run", id)) => self.open_output(OutputOf::Run(id)),
            Some(subject) => match subject.issue() {
                Some(id) => self.open_issue(id.clone()),
                None => self.tell(format!("{}: nothing more is known here", subject.id())),
            },
            None => {}
        }
    }

    pub(super) fn open_issue(&mut self, id: IssueId) {
        self.detail = Some(DetailPane::new(id.clone()));
        self.ask(StoreQuery::Detail(id));
    }

    fn open_output(&mut self, of: OutputOf) {
        self.overlay = Some(Overlay::Output(OutputPage { of: of.clone(), text: String::new(), above_end: 0 }));
        self.ask(StoreQuery::Output(of));
    }

    fn open_palette(&mut self) {
        let keys = self.options.keys.of_view(self.current);
        let is_thing =
            |command: &UserCommand| !matches!(command, UserCommand::Step(_) | UserCommand::Palette | UserCommand::Back);
        let entries = keys.into_iter().filter(|(.., command)| is_thing(command));
        let entries = entries.map(|(key, verb, command)| (format!("{verb} ({key})"), Choice::Command(command)));
        self.overlay = Some(Overlay::Picker(Picker::new(PickerPurpose::Palette, entries.collect())));
    }

    fn open_picker(&mut self, purpose: PickerPurpose) {
        self.overlay = Some(Overlay::Picker(Picker::new(purpose, Vec::new())));
        self.ask(StoreQuery::Find { text: String::new() });
    }

    /// Leaves what was opened last. Returns false if there was nothing.
    fn back(&mut self) -> bool {
        if self.detail.take().is_some() {
            return true;
        }
        if !self.filter().is_empty() {
            self.set_filter("");
            return true;
        }
        if self.view_mut().back() {
            self.refresh();
            return true;
        }
        let had_marks = !self.marks.is_empty();
        self.marks.clear();
        had_marks
    }
}
