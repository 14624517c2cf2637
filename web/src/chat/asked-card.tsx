/** Questions of the agent and calls to be approved: one form, one answer. */

import { useEffect, useId, useRef, useState } from "react";
import type { Decision } from "../api/contract";
import type { Asked } from "../conversation/view";
import { useSpeech } from "../i18n/language";
import { useFocusAfter } from "../ui/focus-after";
import { Icon } from "../ui/icon";
import { visible } from "../ui/visible";
import { ApprovalField } from "./approval-field";
import { QuestionField } from "./question-field";

interface Props {
  asked: Asked;
  busy: boolean;
  onAnswer: (interrupt: string, answers: string[] | undefined, decisions: Decision[] | undefined) => Promise<void>;
}

export function AskedCard({ asked, busy, onAnswer }: Props) {
  return asked.closed ? <Answered asked={asked} /> : <AskedForm asked={asked} busy={busy} onAnswer={onAnswer} />;
}

function AskedForm({ asked, busy, onAnswer }: Props) {
  const { t } = useSpeech();
  const questions = asked.interrupt.questions ?? [];
  const requests = asked.interrupt.action_requests ?? [];
  const [answers, setAnswers] = useState<string[]>(() => questions.map(() => ""));
  const [decisions, setDecisions] = useState<(Decision | null)[]>(() => requests.map(() => null));
  const form = useRef<HTMLFormElement>(null);
  const heading = useId();
  const answered = useFocusAfter(".composer textarea");

  useEffect(() => {
    // Only somebody who is not writing is taken here.
    const focused = document.activeElement;
    const idle = focused === document.body || (focused instanceof HTMLTextAreaElement && focused.value === "");
    if (!idle) return;
    form.current?.querySelector<HTMLElement>("input, textarea, button")?.focus();
    // A form that is taller than the view is read from its beginning.
    const [top, view] = [form.current, form.current?.closest(".roll-box")].map((element) => element?.getBoundingClientRect().top ?? 0);
    if ((top ?? 0) < (view ?? 0)) form.current?.scrollIntoView({ block: "start" });
  }, []);

  const complete = answers.every((answer) => answer.trim() !== "") && decisions.every((decision) => decision !== null);
  const send = (given: (Decision | null)[]) => {
    answered();
    const settled = given.map((decision) => decision ?? ({ type: "reject" } as const));
    void onAnswer(asked.interrupt.id, questions.length ? answers.map((answer) => answer.trim()) : undefined, requests.length ? settled : undefined).catch(() => undefined);
  };
  const alone = questions.length === 0 && requests.length === 1;
  return (
    <form
      ref={form}
      className="asked"
      aria-labelledby={heading}
      data-testid="asked"
      onSubmit={(event) => {
        event.preventDefault();
        if (complete && !busy) send(decisions);
      }}
    >
      <h3 id={heading} className="asked-title">
        <Icon name={requests.length > 0 ? "shield" : "chat"} size={16} /> {requests.length > 0 ? t("asked.approve") : t("asked.question")}
      </h3>
      {questions.map((question, at) => (
        <QuestionField
          key={`${question.call}.${at}`}
          question={question}
          value={answers[at] ?? ""}
          onChange={(value) => setAnswers((before) => before.map((old, place) => (place === at ? value : old)))}
        />
      ))}
      {requests.map((request, at) => (
        <ApprovalField
          key={`${request.call}.${at}`}
          request={request}
          alone={alone}
          busy={busy}
          value={decisions[at] ?? null}
          onChange={(decision, now) => {
            const next = decisions.map((old, place) => (place === at ? decision : old));
            setDecisions(next);
            if (now) send(next);
          }}
        />
      ))}
      {!alone && (
        <footer className="asked-foot">
          {requests.length > 1 && (
            <button type="button" onClick={() => setDecisions(requests.map(() => ({ type: "approve" })))}>
              {t("asked.approveAll")}
            </button>
          )}
          <button type="submit" className="primary" disabled={!complete || busy}>
            {t("asked.send")}
          </button>
        </footer>
      )}
    </form>
  );
}

/** What was asked and answered, for the record. */
function Answered({ asked }: { asked: Asked }) {
  const { t } = useSpeech();
  const nothing = asked.answers === null && asked.decisions === null;
  return (
    <div className="asked asked-closed">
      <dl>
        {(asked.interrupt.questions ?? []).map((question, at) => (
          <div key={`${question.call}.${at}`}>
            <dt>{question.question}</dt>
            <dd>{asked.answers?.[at] || t("asked.unanswered")}</dd>
          </div>
        ))}
        {(asked.interrupt.action_requests ?? []).map((request, at) => {
          const decision = asked.decisions?.[at];
          return (
            <div key={`${request.call}.${at}`}>
              <dt>
                <code>{visible(request.name)}</code> {visible(request.summary ?? "")}
              </dt>
              <dd>
                {nothing || !decision ? t("asked.unanswered") : decision.type === "approve" ? t("asked.approved") : t("asked.rejected")}
                {decision?.message ? `: ${decision.message}` : ""}
              </dd>
            </div>
          );
        })}
      </dl>
    </div>
  );
}
