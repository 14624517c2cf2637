import { useEffect, type ReactNode } from "react";

interface Props {
  title: string;
  menu: ReactNode;
  actions?: ReactNode;
  lead?: string;
  children: ReactNode;
}

/** A page beside the chat: its heading, what can be done, its content. */
export function Page({ title, menu, actions, lead, children }: Props) {
  useEffect(() => {
    document.title = `${title} – Holon`;
  }, [title]);
  return (
    <div className="page">
      <header className="bar">
        {menu}
        <h1 className="bar-title" tabIndex={-1}>{title}</h1>
        <span className="bar-actions">{actions}</span>
      </header>
      <div className="page-body" tabIndex={0} role="region" aria-label={title}>
        {lead && <p className="lead">{lead}</p>}
        {children}
      </div>
    </div>
  );
}
