/**
 * An e-mail as its recipient sees it. The frame runs no script, and the page's Content-Security-Policy prevents
 * requests to other servers. That policy also rejects styles in HTML; so they are set one by one, which it allows (CSP
 * Level 3, section 8.3).
 */
import { useEffect, useRef } from 'react';

export function EmailFrame({ html }: { readonly html: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const shown = frame.current?.contentDocument;
    if (shown) draw(shown, html);
  }, [html]);
  return <iframe ref={frame} title="Preview" sandbox="allow-same-origin" width="100%" height={420} />;
}

/** Holds styles until they are set. */
const KEPT = 'data-kept-style';

function draw(shown: Document, html: string): void {
  // Before it is parsed: the parser checks the policy, too.
  const kept = html.replace(/<[a-z][^>]*>/gi, (tag) => tag.replace(/\sstyle(?=\s*=)/gi, ` ${KEPT}`));
  const email = new DOMParser().parseFromString(kept, 'text/html');
  const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
  for (const element of email.querySelectorAll('style')) element.setAttribute('nonce', nonce);
  shown.replaceChild(shown.importNode(email.documentElement, true), shown.documentElement);
  for (const element of shown.querySelectorAll<HTMLElement>(`[${KEPT}]`)) {
    element.style.cssText = element.getAttribute(KEPT) ?? '';
    element.removeAttribute(KEPT);
  }
}
