/**
 * The page for a sign-in with a provider that cannot continue and has no known redirect URL. Programs get the problem
 * document instead. Pure.
 */
import type { MillraceError } from '../../lib/errors.ts';
import { escaped, type SmallPage, smallPage } from './page-template.ts';

export function refusalPage({ message, hint, code }: MillraceError, request: string): SmallPage {
  const advice = hint === undefined ? '' : `<p>${escaped(hint)}.</p>`;
  return smallPage(
    'Sign-in failed',
    `<p>${escaped(message)}.</p>${advice}<p><small>${escaped(code)} · ${escaped(request)}</small></p>`,
  );
}
