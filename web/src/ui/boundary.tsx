/** Keeps an error in one part of the page from emptying all of it. */

import { Component, type ReactNode } from "react";
import { useSpeech } from "../i18n/language";
import { Problem } from "./problem";

interface Props {
  /** Going somewhere else tries again. */
  place: string;
  menu: ReactNode;
  children: ReactNode;
}

export class Boundary extends Component<Props, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error: error ?? new Error("?") };
  }

  override componentDidUpdate(before: Props): void {
    if (this.state.error !== null && before.place !== this.props.place) this.setState({ error: null });
  }

  override render(): ReactNode {
    return this.state.error === null ? this.props.children : <Broken error={this.state.error} menu={this.props.menu} />;
  }
}

function Broken({ error, menu }: { error: unknown; menu: ReactNode }) {
  const { t } = useSpeech();
  const what = error instanceof Error ? error.message : String(error);
  return (
    <div className="page">
      <header className="bar">{menu}</header>
      <div className="page-body">
        <Problem error={new Error(t("part.broken", { what }))} remedy={t("part.reload")} onRetry={() => location.reload()} />
      </div>
    </div>
  );
}
