//! Writes down what is to be done.

use holon_core::event::Todo;
use serde::Deserialize;
use serde_json::json;

use super::arguments::read;
use super::{Arguments, Described, Effect, Outcome, Running, Scene, Settings, Tool, Trouble};

/// Most entries and most bytes of one: it is a list, not a document.
const MOST: usize = 50;
const LONG: usize = 500;

pub(super) struct WriteTodos;

#[derive(Deserialize)]
struct Wanted {
    todos: Vec<Todo>,
}

impl Tool for WriteTodos {
    fn name(&self) -> &str {
        "write_todos"
    }

    fn describe(&self, _settings: &Settings) -> Described {
        let schema = json!({"type": "object", "properties": {"todos": {"type": "array", "items": {"type": "object",
            "properties": {"text": {"type": "string"}, "status": {"type": "string", "enum": ["pending", "doing", "done"]}},
            "required": ["text", "status"]}}}, "required": ["todos"]});
        Described::new("write_todos", "Replace your to-do list; for work of many steps.", schema)
    }

    fn run<'a>(&'a self, arguments: Arguments, _scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let Wanted { todos } = read(arguments)?;
            if todos.len() > MOST || todos.iter().any(|todo| todo.text.len() > LONG) {
                return Err(Trouble::Said(format!("at most {MOST} entries of {LONG} bytes each")));
            }
            Ok(Outcome { effect: Effect::Todos(todos), ..Outcome::said("noted") })
        })
    }
}
