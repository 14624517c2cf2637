//! Writes down what is to be done.

use holon_core::event::Todo;
use serde::Deserialize;
use serde_json::json;

use super::arguments::read;
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolEffect, ToolOutcome, ToolSpec, ToolTrouble,
    TurnSettings,
};

/// Most entries and most bytes of one: it is a list, not a document.
const MOST: usize = 50;
const LONG: usize = 500;

pub(super) struct WriteTodosTool;

#[derive(Deserialize)]
struct WriteTodosArguments {
    todos: Vec<Todo>,
}

impl AgentTool for WriteTodosTool {
    fn name(&self) -> &str {
        "write_todos"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"todos": {"type": "array", "items": {"type": "object",
            "properties": {"text": {"type": "string"}, "status": {"type": "string", "enum": ["pending", "doing", "done"]}},
            "required": ["text", "status"]}}}, "required": ["todos"]});
        ToolSpec::new("write_todos", "Replace your to-do list; for work of many steps.", schema)
    }

    fn run<'a>(&'a self, arguments: ToolArguments, _scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let WriteTodosArguments { todos } = read(arguments)?;
            if todos.len() > MOST || todos.iter().any(|todo| todo.text.len() > LONG) {
                return Err(ToolTrouble::Said(format!("at most {MOST} entries of {LONG} bytes each")));
            }
            Ok(ToolOutcome { effect: ToolEffect::Todos(todos), ..ToolOutcome::said("noted") })
        })
    }
}
