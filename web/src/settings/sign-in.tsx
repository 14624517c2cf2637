/** Asks for the token that the server printed when it started. */

import { useState } from "react";
import { useSpeech } from "../i18n/language";

interface Props {
  /** One was entered, and the server did not take it. */
  wrong: boolean;
  onToken: (token: string) => void;
}

export function SignIn({ wrong, onToken }: Props) {
  const { t } = useSpeech();
  const [token, setToken] = useState("");
  return (
    <main className="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim()) onToken(token);
        }}
      >
        <h1>Holon</h1>
        <p>{t("signIn.why")}</p>
        <label>
          {t("signIn.token")}
          <input type="password" autoComplete="off" value={token} onChange={(event) => setToken(event.target.value)} autoFocus aria-invalid={wrong} aria-describedby={wrong ? "sign-in-wrong" : undefined} />
        </label>
        {wrong && (
          <p id="sign-in-wrong" className="minus" role="alert">
            {t("signIn.wrong")}
          </p>
        )}
        <button type="submit" className="primary">
          {t("signIn.go")}
        </button>
      </form>
    </main>
  );
}
