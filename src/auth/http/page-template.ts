/**
 * The frame of the hosted pages: plain HTML with one style and one script, both allowed by their hashes, and nothing
 * from other servers. Pure.
 */
import { hash } from 'node:crypto';

export interface HostedPage {
  readonly html: string;
  /** Content-Security-Policy. */
  readonly policy: string;
}

const STYLE = `:root{color-scheme:light dark;--paper:#fbfbf9;--ink:#1d2127;--line:#c9ccd1;--act:#0b5cad}
@media(prefers-color-scheme:dark){:root{--paper:#14181f;--ink:#e6e8eb;--line:#3a414c;--act:#7ab8ff}}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:26rem;margin:12vh auto;padding:0 1.25rem}h1{font-size:1.4rem}
label{display:block;margin:1rem 0 .25rem}input{width:100%;box-sizing:border-box;padding:.6rem;font:inherit;
color:inherit;background:transparent;border:1px solid var(--line);border-radius:.4rem}
button{margin-top:1.25rem;padding:.6rem 1.2rem;font:inherit;border:0;border-radius:.4rem;background:var(--act);
color:var(--paper);cursor:pointer}button:disabled{opacity:.5}:focus-visible{outline:2px solid var(--act);outline-offset:2px}
#providers button{display:block;width:100%;margin-top:.75rem;color:inherit;background:transparent;
border:1px solid var(--line)}hr{margin:2rem 0;border:0;border-top:1px solid var(--line)}#says{min-height:1.5em;margin-top:1rem}`;

/**
 * @param title as text
 * @param body as HTML: values from outside must be escaped ({@link escapeHtml})
 */
export function renderHostedPage(title: string, body: string, script?: string): HostedPage {
  const code = script === undefined ? '' : `<script>${script}</script>`;
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main>
<h1>${escapeHtml(title)}</h1>${body}</main>${code}</body></html>
`;
  const allowed = script === undefined ? "'none'" : `'sha256-${hash('sha256', script, 'base64')}'`;
  const policy =
    `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; script-src ${allowed}; ` +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  return { html, policy };
}

/** Text escaped for HTML, attributes included. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (email) => `&#${email.charCodeAt(0)};`);
}
