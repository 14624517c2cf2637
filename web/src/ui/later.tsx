/** Parts of the page that are fetched when they are first shown: one that cannot be had says so, and can be asked for again. */

import { useEffect, useState, type ComponentType, type ReactNode } from "react";
import { useSpeech } from "../i18n/language";
import { Problem } from "./problem";

type Load<P> = () => Promise<{ default: ComponentType<P> }>;

/** The part, and until it is there something in its place; `frame` puts around that what must not be missing. */
export function later<P extends object>(load: Load<P>, frame: (props: P, content: ReactNode) => ReactNode = (_, content) => content): ComponentType<P> {
  let known: ComponentType<P> | null = null;
  return function Later(props: P) {
    const { t } = useSpeech();
    const [attempt, setAttempt] = useState(0);
    const [failed, setFailed] = useState(false);
    const [, setFound] = useState(known !== null);
    useEffect(() => {
      if (known !== null) return;
      let current = true;
      load().then(
        (part) => {
          known = part.default;
          if (current) setFound(true);
        },
        () => current && setFailed(true),
      );
      return () => {
        current = false;
      };
    }, [attempt]);
    if (known !== null) {
      const Part = known;
      return <Part {...props} />;
    }
    const again = () => {
      setFailed(false);
      setAttempt(attempt + 1);
    };
    return frame(props, failed ? <Problem error={new Error(t("part.missing"))} remedy={t("part.remedy")} onRetry={again} /> : <p className="loading">{t("loading")}</p>);
  };
}
