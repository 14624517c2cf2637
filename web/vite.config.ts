import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// Names carry no hash: the server answers with an ETag, and the committed files then only change where they must.
export default defineConfig({
  plugins: [react()],
  base: "/",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rollupOptions: {
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  server: { host: "127.0.0.1", proxy: { "/api": process.env.HOLON_SERVER ?? "http://127.0.0.1:4681" } },
  test: { include: ["tests/unit/**/*.test.ts"], environment: "node" },
});
