/**
 * The templates of all letters: those of the program, and in their place those that owners have changed, in force in every
 * process within a second. Not here: HTTP (admin/letters), and sending (outbox.ts).
 */
import type { Stamp } from '../../database/system-collection.ts';
import { Reloader } from '../../kernel/concurrency/reloader.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { User } from '../identity/user.ts';
import { SETTINGS_COLLECTION } from '../providers/redirect-store.ts';
import { LANGUAGES, type LanguageName } from './languages/languages.ts';
import { isLetterKind, LETTERS, type LetterKind, type WayChange } from './languages/letter-kinds.ts';
import { htmlDocumentOf, plainTextOf } from './layout.ts';
import type { Letter } from './mail.ts';
import { filled, type LetterTemplate, templateFaults } from './template.ts';
import type { TemplateStore } from './template-store.ts';

/** A letter without its address. */
export type FilledLetter = Required<Omit<Letter, 'to'>>;

export interface LetterTemplatesParts {
  readonly store: TemplateStore;
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Kept {
  readonly template: LetterTemplate;
  readonly updatedAt: Date;
}

export class LetterTemplates {
  readonly #parts: LetterTemplatesParts;
  readonly reloader: Reloader;
  #changed: ReadonlyMap<string, Kept> = new Map();

  constructor(parts: LetterTemplatesParts) {
    this.#parts = parts;
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === SETTINGS_COLLECTION,
      onError: parts.onError,
    });
  }

  /** The template in force, and since when an owner has it so; null for the one of the program. */
  find(
    kind: LetterKind,
    language: LanguageName,
  ): { readonly template: LetterTemplate; readonly updatedAt: Date | null } {
    return this.#changed.get(keyOf(kind, language)) ?? { template: defaultTemplate(kind, language), updatedAt: null };
  }

  /** A letter with these values, in the template that is in force. */
  fill(kind: LetterKind, language: LanguageName, values: Readonly<Record<string, string>>): FilledLetter {
    return filled(this.find(kind, language).template, values);
  }

  /** @throws MillraceError `invalid-body` with the places */
  async replace(kind: LetterKind, language: LanguageName, template: LetterTemplate, stamp: Stamp): Promise<void> {
    requireUsable(kind, template);
    await this.#parts.store.put({ ...template, kind, language }, stamp, new Date(this.#parts.now()));
    await this.reloader.reload();
  }

  /** Puts the template of the program in force again. */
  async reset(kind: LetterKind, language: LanguageName, stamp: Stamp): Promise<void> {
    await this.#parts.store.remove({ kind, language }, stamp);
    await this.reloader.reload();
  }

  /** Of what another program or version wrote, only what can be used. */
  async #read(): Promise<void> {
    const changed = new Map<string, Kept>();
    for (const { kind, language, subject, text, html, updatedAt } of await this.#parts.store.all()) {
      const template = { subject: String(subject), text: String(text), html: String(html) };
      if (!isLetterKind(kind) || templateFaults(template, LETTERS[kind]).length > 0) continue;
      changed.set(keyOf(kind, language), { template, updatedAt });
    }
    this.#changed = changed;
  }
}

/** @throws MillraceError `invalid-body` with the places of a template that cannot be used */
export function requireUsable(kind: LetterKind, template: LetterTemplate): void {
  const faults = templateFaults(template, LETTERS[kind]);
  const [first] = faults;
  if (first === undefined) return;
  throw new MillraceError('invalid-body', `The letter cannot be used: ${first.pointer} ${first.detail}`, { faults });
}

/** The template of the program. */
export function defaultTemplate(kind: LetterKind, language: LanguageName): LetterTemplate {
  const { subject, lines } = LANGUAGES[language].letters[kind];
  return { subject, text: plainTextOf(lines), html: htmlDocumentOf(lines, language) };
}

/** What changed, as a sentence. */
export function changeWords(change: WayChange, language: LanguageName): string {
  return LANGUAGES[language].changes[change];
}

/** The values that every letter has. */
export function commonValues({ username, email }: Pick<User, 'username' | 'email'>, base: string) {
  return { name: username ?? email ?? '', site: new URL(base).host };
}

function keyOf(kind: string, language: string): string {
  return `${kind} ${language}`;
}
