/** The languages of e-mails, and the choice for a reader. Pure. */
import { GERMAN_EMAIL_TEXTS } from './de.ts';
import { ENGLISH_EMAIL_TEXTS } from './en.ts';
import type { EmailTexts } from './locale.ts';

export const EMAIL_TEXTS = { en: ENGLISH_EMAIL_TEXTS, de: GERMAN_EMAIL_TEXTS } as const satisfies Readonly<
  Record<string, EmailTexts>
>;

export type LanguageCode = keyof typeof EMAIL_TEXTS;

export const LANGUAGE_CODES: readonly LanguageCode[] = ['en', 'de'];

/** Maximum characters of a header that are parsed. */
const MAX_READ = 200;

/** The language of a tag such as `de-AT` (RFC 4647 section 3.4); null for an unsupported one. */
export function toSupportedLanguage(tag: unknown): LanguageCode | null {
  if (typeof tag !== 'string') return null;
  const [primary = ''] = tag.trim().toLowerCase().split(/[-_]/, 1);
  return LANGUAGE_CODES.find((name) => name === primary) ?? null;
}

/**
 * The preferred supported language of a header `Accept-Language` (RFC 9110 section 12.5.4); null when there is none.
 */
export function negotiateLanguage(header: string | undefined): LanguageCode | null {
  const wishes = (header ?? '').slice(0, MAX_READ).split(',');
  const rated = wishes.flatMap((wish) => {
    const [tag = '', ...parameters] = wish.split(';');
    const quality = Number(/^\s*q=([\d.]+)\s*$/i.exec(parameters[0] ?? 'q=1')?.[1] ?? 0);
    const language = toSupportedLanguage(tag);
    return language === null || !(quality > 0) ? [] : [{ language, quality }];
  });
  return rated.sort((a, b) => b.quality - a.quality)[0]?.language ?? null;
}
