import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { LanguageProvider } from "./i18n/language";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/chat.css";
import "./styles/panel.css";
import "./styles/pages.css";
import "./styles/print.css";

// A file let go beside its target would replace the page, and everything in it.
for (const kind of ["dragover", "drop"] as const) {
  addEventListener(kind, (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
}

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <LanguageProvider>
        <App />
      </LanguageProvider>
    </StrictMode>,
  );
}
