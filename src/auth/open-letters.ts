/**
 * Creates what writes and sends letters: the way that they go, the templates, the queue, the notices. Not here: what signs in by
 * them (open-auth.ts puts that together), and HTTP.
 */
import type { Mongo } from '../database/mongo.ts';
import type { AuthConfig, Mode } from '../kernel/config/config.ts';
import type { User } from './identity/user.ts';
import { KnownNetworks } from './letters/known-networks.ts';
import { LetterTemplates } from './letters/letter-templates.ts';
import { logMail } from './letters/log-mail.ts';
import { LetterNotSent, type Mail } from './letters/mail.ts';
import { concerns, type NoticedRow, Notices } from './letters/notices.ts';
import { Outbox } from './letters/outbox.ts';
import { OutboxStore } from './letters/outbox-store.ts';
import { TemplateStore } from './letters/template-store.ts';
import { type MailWay, TestLetters } from './letters/test-letters.ts';

export interface LettersSettings {
  readonly mode: Mode;
  readonly auth: Pick<AuthConfig, 'mail' | 'base' | 'language'>;
  /** Called with errors that no answer can report. */
  readonly onError: (error: unknown) => void;
  /** Shows a letter at the terminal, in development. */
  readonly onLetter?: (text: string) => void;
}

export interface LettersNeeds {
  readonly mongo: Mongo;
  readonly singleUse: { isFirst(what: string, ms: number): Promise<boolean> };
  readonly findUser: (id: string) => Promise<User | null>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What a durable reader of the event log has to know (events/read/consumer.ts). */
interface NoticesReader {
  readonly name: string;
  readonly concerns: (row: NoticedRow) => boolean;
  readonly handle: (rows: readonly NoticedRow[]) => Promise<void>;
}

interface LogConsumer {
  start(): void;
  stop(): Promise<void>;
}

export interface LetterParts {
  readonly outbox: Outbox;
  readonly letterTemplates: LetterTemplates;
  readonly testLetters: TestLetters;
  /**
   * Begins to tell people what happens to their accounts, where letters can be sent.
   * @param consumer makes a durable reader of the event log
   */
  startNotices(consumer: (options: NoticesReader) => LogConsumer): Pick<LogConsumer, 'stop'>;
}

export async function openLetters(settings: LettersSettings, needs: LettersNeeds): Promise<LetterParts> {
  const { auth, onError } = settings;
  const { mongo, singleUse, findUser, now } = needs;
  const [store, networks] = [new OutboxStore(mongo), new KnownNetworks(mongo)];
  await Promise.all([store.start(), networks.start()]);
  const mail = await openMail(settings);
  const way = mailWay(settings);
  const letterTemplates = new LetterTemplates({ store: new TemplateStore(mongo), onError, now });
  const { base, language } = auth;
  const outbox = new Outbox({ store, mail, templates: letterTemplates, language, base, onError, now });
  // It composes letters that wait, even if nobody tells anything new.
  const notices = new Notices({ outbox, networks, findUser, now });
  return {
    outbox,
    letterTemplates,
    testLetters: new TestLetters({ way, mail, singleUse }),
    startNotices: (consumer) => {
      if (way === 'none') return { stop: async () => undefined };
      const reader = consumer({ name: 'notices', concerns, handle: (rows) => notices.tell(rows) });
      reader.start();
      return reader;
    },
  };
}

/** What takes the letters of an installation. */
export function mailWay({ mode, auth }: Pick<LettersSettings, 'mode' | 'auth'>): MailWay {
  if (auth.mail !== null) return 'smtp';
  return mode === 'development' ? 'terminal' : 'none';
}

/** Opens the way that letters go. */
async function openMail({ mode, auth, onLetter }: LettersSettings): Promise<Mail> {
  if (auth.mail !== null) {
    // Loaded only when it is used: loading takes a tenth of a second.
    const { smtpMail } = await import('./letters/smtp-mail.ts');
    return smtpMail(auth.mail.url, auth.mail.from);
  }
  if (mode === 'development') return logMail(onLetter ?? (() => {}));
  return {
    send: async () => {
      throw new LetterNotSent('There is no mail server: MILLRACE_SMTP_URL is not set', true);
    },
    close: () => {},
  };
}
