/** What can be done with a thread in the list: its name, its place, a copy to keep, its end. */

import { useId, useState } from "react";
import { api } from "../api/client";
import type { Thread } from "../api/contract";
import { tellTabs } from "../conversation/tabs";
import { useSpeech } from "../i18n/language";
import { Dialog } from "../ui/dialog";
import { save } from "../ui/save";
import { Icon } from "../ui/icon";
import { Problem } from "../ui/problem";

interface Props {
  thread: Thread;
  onClose: () => void;
  onChange: () => void;
  onDelete: () => void;
}

export function ThreadDialog({ thread, onClose, onChange, onDelete }: Props) {
  const { t } = useSpeech();
  const title = thread.title ?? t("thread.untitled");
  const [name, setName] = useState(title);
  const [error, setError] = useState<unknown>(null);
  const field = useId();
  const change = async (what: Parameters<typeof api.changeThread>[1]) => {
    try {
      await api.changeThread(thread.id, what);
      tellTabs(thread.id);
      onChange();
      onClose();
    } catch (failure) {
      setError(failure);
    }
  };
  const take = async (format: "markdown" | "json") => {
    try {
      save(await api.exportThread(thread.id, format), `${thread.id}.${format === "json" ? "json" : "md"}`);
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title={t("thread.more", { title })} onClose={onClose}>
      <form
        className="thread-name"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== "") void change({ title: name.trim() });
        }}
      >
        <label htmlFor={field}>{t("thread.name")}</label>
        <input id={field} type="text" data-first value={name} maxLength={120} onChange={(event) => setName(event.target.value)} />
        <button type="submit" className="primary" disabled={name.trim() === "" || name.trim() === title}>
          {t("thread.rename")}
        </button>
      </form>
      <div className="thread-acts">
        <button type="button" onClick={() => void change({ pinned: !thread.pinned })}>
          <Icon name="pin" size={16} /> {t(thread.pinned ? "thread.unpin" : "thread.pin")}
        </button>
        <button type="button" onClick={() => void change({ archived: !thread.archived })}>
          <Icon name="audit" size={16} /> {t(thread.archived ? "thread.unarchive" : "thread.archive")}
        </button>
        <button type="button" onClick={() => void take("markdown")}>
          {t("thread.markdown")}
        </button>
        <button type="button" onClick={() => void take("json")}>
          {t("thread.json")}
        </button>
        <button type="button" className="danger" onClick={onDelete}>
          <Icon name="trash" size={16} /> {t("delete")}
        </button>
      </div>
      {error !== null && <Problem error={error} onClose={() => setError(null)} />}
    </Dialog>
  );
}
