import { defineConfig } from "vite";

// The built files lie in one folder, flat: the service knows them by name. Nothing is inlined, because the policy of the
// page allows neither inline scripts nor styles nor data URLs.
export default defineConfig({
  base: "/console/",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    outDir: "../src/tocsin/service/console/built",
    emptyOutDir: true,
    assetsDir: "",
    assetsInlineLimit: 0,
    modulePreload: false,
    target: "es2022",
    reportCompressedSize: false,
  },
  server: { proxy: Object.fromEntries(["/v1", "/metrics", "/readyz"].map((path) => [path, "http://127.0.0.1:8470"])) },
});
