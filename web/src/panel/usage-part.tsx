import type { Usage } from "../api/contract";
import { useSpeech } from "../i18n/language";
import { money, tokens } from "../ui/figures";

interface Props {
  usage: Usage | null;
  model: string | null;
  agent: string | null;
}

/** Tokens and money of the whole thread. */
export function UsagePart({ usage, model, agent }: Props) {
  const { t, language } = useSpeech();
  const row = (label: string, value: string, strong = false) => (
    <div>
      <dt>{label}</dt>
      <dd className={strong ? "strong" : undefined}>{value}</dd>
    </div>
  );
  return (
    <dl className="usage">
      {row(t("usage.cost"), usage?.cost_usd == null ? t("usage.unknown") : money(usage.cost_usd), true)}
      {usage && row(t("usage.input"), tokens(usage.input, language))}
      {usage && usage.cached > 0 && row(t("usage.cached"), tokens(usage.cached, language))}
      {usage && row(t("usage.output"), tokens(usage.output, language))}
      {usage && usage.reasoning > 0 && row(t("usage.reasoning"), tokens(usage.reasoning, language))}
      {model && row(t("usage.model"), model)}
      {agent && row(t("usage.agent"), agent)}
    </dl>
  );
}
