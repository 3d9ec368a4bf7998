/** The languages that letters have, and which one a reader gets. Pure. Not here: the words (en.ts, de.ts). */
import { GERMAN } from './de.ts';
import { ENGLISH } from './en.ts';
import type { Language } from './language.ts';

export const LANGUAGES = { en: ENGLISH, de: GERMAN } as const satisfies Readonly<Record<string, Language>>;

export type LanguageName = keyof typeof LANGUAGES;

export const LANGUAGE_NAMES: readonly LanguageName[] = ['en', 'de'];

/** Characters of a header that are read. */
const MAX_READ = 200;

/** The language of a tag such as `de-AT` (RFC 4647 section 3.4); null for one without letters. */
export function languageOf(tag: unknown): LanguageName | null {
  if (typeof tag !== 'string') return null;
  const [primary = ''] = tag.trim().toLowerCase().split(/[-_]/, 1);
  return LANGUAGE_NAMES.find((name) => name === primary) ?? null;
}

/** The language that a header `Accept-Language` likes best (RFC 9110 section 12.5.4); null when none of them has letters. */
export function acceptedLanguage(header: string | undefined): LanguageName | null {
  const wishes = (header ?? '').slice(0, MAX_READ).split(',');
  const rated = wishes.flatMap((wish) => {
    const [tag = '', ...parameters] = wish.split(';');
    const quality = Number(/^\s*q=([\d.]+)\s*$/i.exec(parameters[0] ?? 'q=1')?.[1] ?? 0);
    const language = languageOf(tag);
    return language === null || !(quality > 0) ? [] : [{ language, quality }];
  });
  return rated.sort((a, b) => b.quality - a.quality)[0]?.language ?? null;
}
