/** Messages that wait for the turn under way. */

import type { Outgoing } from "../conversation/session";
import { useSpeech } from "../i18n/language";
import { Icon } from "../ui/icon";
import { visible } from "../ui/visible";

interface Props {
  queue: readonly Outgoing[];
  busy: boolean;
  onRemove: (place: number) => void;
  onNow: () => void;
}

export function Queue({ queue, busy, onRemove, onNow }: Props) {
  const { t } = useSpeech();
  if (queue.length === 0) return null;
  return (
    <section className="queue" aria-label={t("queue")} data-testid="queue">
      <p className="faint">{t(busy ? "queue.waits" : "queue.held")}</p>
      <ol>
        {queue.map((one, at) => (
          <li key={`${at}.${one.text}`}>
            <span className="queue-text">{visible(one.text)}</span>
            <button type="button" className="plain" aria-label={t("queue.remove", { text: one.text.slice(0, 60) })} title={t("queue.remove", { text: one.text.slice(0, 60) })} onClick={() => onRemove(at)}>
              <Icon name="cross" size={14} />
            </button>
          </li>
        ))}
      </ol>
      <button type="button" className="small" onClick={onNow}>
        {t(busy ? "queue.now" : "queue.send")}
      </button>
    </section>
  );
}
