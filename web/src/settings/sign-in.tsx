/** Asks for the token that the server printed when it started. */

import { useState } from "react";
import { useSpeech } from "../i18n/language";

export function SignIn({ onToken }: { onToken: (token: string) => void }) {
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
          <input type="password" autoComplete="off" value={token} onChange={(event) => setToken(event.target.value)} autoFocus />
        </label>
        <button type="submit" className="primary">
          {t("signIn.go")}
        </button>
      </form>
    </main>
  );
}
