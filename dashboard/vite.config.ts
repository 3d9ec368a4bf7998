/** How the dashboard is built for browsers, and how it is served while it is worked on (`npm run dashboard`). */
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** A running server, for the requests of the page. */
const SERVER = process.env['MILLRACE_URL'] ?? 'http://127.0.0.1:3000';

export default defineConfig(({ command }) => ({
  // The build works below any path: the server writes where it is into the page, and scripts find each other relatively.
  base: command === 'build' ? './' : '/dashboard/',
  plugins: [react()],
  // The server replaces it by a fresh nonce in each response.
  html: { cspNonce: '__NONCE__' },
  build: {
    target: 'es2024',
    // A data: address of a script or a style would be refused by the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
  },
  server: {
    proxy: {
      // Everything but the pages themselves.
      '^/(?!dashboard(?!/session$))': { target: SERVER, ws: true },
    },
  },
}));
