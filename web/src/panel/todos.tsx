import type { Todo } from "../api/contract";
import { useSpeech } from "../i18n/language";

const SIGNS = { pending: "○", doing: "◐", done: "●" } as const;

/** What the agent wrote down to do. */
export function Todos({ todos }: { todos: Todo[] }) {
  const { t } = useSpeech();
  return (
    <ol className="todos">
      {todos.map((todo, at) => (
        <li key={`${at}.${todo.text}`} data-status={todo.status}>
          <span className="todo-sign" role="img" aria-label={t(`todo.${todo.status}`)}>
            {SIGNS[todo.status]}
          </span>
          {todo.text}
        </li>
      ))}
    </ol>
  );
}
