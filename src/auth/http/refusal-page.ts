/**
 * What a person is shown where a sign-in by a provider cannot go on and it is not known where it would end. Programs get
 * the problem document instead. Pure.
 */
import type { MillraceError } from '../../kernel/errors.ts';
import { escaped, type SmallPage, smallPage } from './small-page.ts';

export function refusalPage({ message, hint, code }: MillraceError, request: string): SmallPage {
  const advice = hint === undefined ? '' : `<p>${escaped(hint)}.</p>`;
  return smallPage(
    'The sign-in did not work',
    `<p>${escaped(message)}.</p>${advice}<p><small>${escaped(code)} · ${escaped(request)}</small></p>`,
  );
}
