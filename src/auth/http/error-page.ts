/**
 * The page for a sign-in with a provider that cannot continue and has no known redirect URL. Programs get the problem
 * document instead. Pure.
 */
import type { MillraceError } from '../../lib/errors.ts';
import { escapeHtml, type HostedPage, renderHostedPage } from './page-template.ts';

export function errorPage({ message, hint, code }: MillraceError, request: string): HostedPage {
  const advice = hint === undefined ? '' : `<p>${escapeHtml(hint)}.</p>`;
  return renderHostedPage(
    'Sign-in failed',
    `<p>${escapeHtml(message)}.</p>${advice}<p><small>${escapeHtml(code)} · ${escapeHtml(request)}</small></p>`,
  );
}
