import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// Names below assets/ carry a digest of their content, so that the server may let browsers keep them for good.
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
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  server: { host: "127.0.0.1", proxy: { "/api": process.env.HOLON_SERVER ?? "http://127.0.0.1:4681" } },
  test: { include: ["tests/unit/**/*.test.ts"], environment: "node" },
});
