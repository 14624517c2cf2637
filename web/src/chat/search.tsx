/** Words in all threads, and where they stand. */

import { useEffect, useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { FoundPlace } from "../api/contract";
import { lookFor } from "../conversation/wanted";
import { useSpeech } from "../i18n/language";
import { moment } from "../ui/figures";
import { Problem } from "../ui/problem";
import { visible } from "../ui/visible";

/** So long nobody types before it is looked. */
const PAUSE = 200;

interface Found {
  words: string;
  places: FoundPlace[];
  more: boolean;
}

export function SearchResults({ words }: { words: string }) {
  const { t, named, language } = useSpeech();
  const [found, setFound] = useState<Found | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      api.search(words).then(
        (result) => current && (setFound({ words, ...result }), setError(null)),
        (failure: unknown) => current && setError(failure),
      );
    }, PAUSE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [words]);
  if (error !== null) return <Problem error={error} />;
  if (found === null) return <p className="loading">{t("loading")}</p>;
  return (
    <>
      <p className="faint" role="status">
        {found.places.length === 0 ? t("search.none", { words: found.words }) : t("search.count", { count: found.places.length })}
        {found.more ? ` ${t("search.more")}` : ""}
      </p>
      <ul className="thread-list found-list" data-testid="found">
        {found.places.map((place, at) => (
          <li key={at} className="thread-item found">
            <Link href={`/t/${place.thread}`} onClick={() => lookFor({ thread: place.thread, turn: place.turn, words: place.words })}>
              <span className="thread-title">{place.title ?? t("thread.untitled")}</span>
              <span className="found-text">
                {visible(place.before)}
                <mark>{visible(place.words)}</mark>
                {visible(place.after)}
              </span>
              <span className="thread-sub">
                <span>{named("part", place.part)}</span> <span>· {moment(place.at, language)}</span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}
