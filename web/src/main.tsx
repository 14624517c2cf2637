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
