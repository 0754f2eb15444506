import path from 'node:path';
import { defineConfig } from 'vite';

/** The page is built into `dist`, and served under `/admin`; in development the API is that of a gateway on 8080. */
// oxlint-disable-next-line import/no-default-export -- vite reads the default export
export default defineConfig({
  root: import.meta.dirname,
  base: '/admin/',
  build: {
    outDir: path.join(import.meta.dirname, 'dist'),
    emptyOutDir: true,
    // Scripts and styles are files of their own: the page's policy allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8080', '/v1': 'http://127.0.0.1:8080' } },
});
