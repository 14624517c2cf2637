/** One question: options to choose from, and always room for another answer. */

import { useId, useState } from "react";
import type { Question } from "../api/contract";
import { useSpeech } from "../i18n/language";

interface Props {
  question: Question;
  value: string;
  onChange: (value: string) => void;
}

export function QuestionField({ question, value, onChange }: Props) {
  const { t } = useSpeech();
  const name = useId();
  const options = question.options ?? [];
  const [other, setOther] = useState(false);
  if (options.length === 0) {
    return (
      <label className="question">
        <span className="question-text">{question.question}</span>
        <textarea rows={2} value={value} onChange={(event) => onChange(event.target.value)} />
      </label>
    );
  }
  return (
    <fieldset className="question">
      <legend className="question-text">{question.question}</legend>
      <div className="options">
        {options.map((option) => (
          <label key={option} className="option" data-on={!other && value === option}>
            <input
              type="radio"
              name={name}
              checked={!other && value === option}
              onChange={() => {
                setOther(false);
                onChange(option);
              }}
            />
            {option}
          </label>
        ))}
        <label className="option" data-on={other}>
          <input
            type="radio"
            name={name}
            checked={other}
            onChange={() => {
              setOther(true);
              onChange("");
            }}
          />
          {t("asked.other")}
        </label>
      </div>
      {other && (
        <input
          type="text"
          autoFocus
          value={value}
          aria-label={t("asked.otherText", { question: question.question })}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </fieldset>
  );
}
