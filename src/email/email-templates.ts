/**
 * The templates of all e-mails: the default ones, replaced by those that administrators have changed, which are active
 * in every process within a second.
 */
import type { User } from '../auth/identity/user.ts';
import type { ChangeStamp } from '../database/system-collection.ts';
import { SETTINGS_COLLECTION } from '../database/system-collection.ts';
import { Reloader } from '../lib/concurrency/reloader.ts';
import { MillraceError } from '../lib/errors.ts';
import { renderEmailHtml, renderEmailText } from './email-layout.ts';
import { EMAIL_DEFINITIONS, type EmailKind, isEmailKind, type SignInMethodChange } from './locales/email-types.ts';
import { EMAIL_TEXTS, type LanguageCode } from './locales/locales.ts';
import type { Email } from './mailer.ts';
import { type EmailTemplate, renderTemplate, templateIssues } from './template.ts';
import type { EmailTemplateStore } from './template-store.ts';

/** An e-mail without its recipient. */
export type RenderedEmail = Required<Omit<Email, 'to'>>;

export interface EmailTemplatesDeps {
  readonly store: EmailTemplateStore;
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Kept {
  readonly template: EmailTemplate;
  readonly updatedAt: Date;
}

export class EmailTemplates {
  readonly #deps: EmailTemplatesDeps;
  readonly reloader: Reloader;
  #changed: ReadonlyMap<string, Kept> = new Map();

  constructor(deps: EmailTemplatesDeps) {
    this.#deps = deps;
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === SETTINGS_COLLECTION,
      onError: deps.onError,
    });
  }

  /** The active template, and when an administrator changed it; null for the default one. */
  find(kind: EmailKind, language: LanguageCode): { readonly template: EmailTemplate; readonly updatedAt: Date | null } {
    return (
      this.#changed.get(keyOf(kind, language)) ?? { template: defaultEmailTemplate(kind, language), updatedAt: null }
    );
  }

  /** Renders the active template with these values. */
  render(kind: EmailKind, language: LanguageCode, values: Readonly<Record<string, string>>): RenderedEmail {
    return renderTemplate(this.find(kind, language).template, values);
  }

  /** @throws MillraceError `invalid-body` with JSON Pointers */
  async replace(kind: EmailKind, language: LanguageCode, template: EmailTemplate, stamp: ChangeStamp): Promise<void> {
    requireValidTemplate(kind, template);
    await this.#deps.store.put({ ...template, kind, locale: language }, stamp, new Date(this.#deps.now()));
    await this.reloader.reload();
  }

  /** Restores the default template. */
  async reset(kind: EmailKind, language: LanguageCode, stamp: ChangeStamp): Promise<void> {
    await this.#deps.store.remove({ kind, locale: language }, stamp);
    await this.reloader.reload();
  }

  /** Only the usable parts of what another program or version wrote. */
  async #read(): Promise<void> {
    const changed = new Map<string, Kept>();
    for (const { kind, locale, subject, text, html, updatedAt } of await this.#deps.store.all()) {
      const template = { subject: String(subject), text: String(text), html: String(html) };
      if (!isEmailKind(kind) || templateIssues(template, EMAIL_DEFINITIONS[kind]).length > 0) continue;
      changed.set(keyOf(kind, locale), { template, updatedAt });
    }
    this.#changed = changed;
  }
}

/** @throws MillraceError `invalid-body` with the JSON Pointers of a template that cannot be used */
export function requireValidTemplate(kind: EmailKind, template: EmailTemplate): void {
  const issues = templateIssues(template, EMAIL_DEFINITIONS[kind]);
  const [first] = issues;
  if (first === undefined) return;
  throw new MillraceError('invalid-body', `The e-mail template is not valid: ${first.pointer} ${first.detail}`, {
    issues,
  });
}

/** The default template. */
export function defaultEmailTemplate(kind: EmailKind, language: LanguageCode): EmailTemplate {
  const { subject, lines } = EMAIL_TEXTS[language].emails[kind];
  return { subject, text: renderEmailText(lines), html: renderEmailHtml(lines, language) };
}

/** What changed, as a sentence. */
export function describeSignInChange(change: SignInMethodChange, language: LanguageCode): string {
  return EMAIL_TEXTS[language].changes[change];
}

/** The values that every e-mail has. */
export function commonTemplateValues({ username, email }: Pick<User, 'username' | 'email'>, base: string) {
  return { name: username ?? email ?? '', site: new URL(base).host };
}

function keyOf(kind: string, language: string): string {
  return `${kind} ${language}`;
}
