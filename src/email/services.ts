/** Creates the services that write and send e-mails: the mailer, the templates, the queue, the notifications. */
import type { User } from '../auth/identity/user.ts';
import type { AuthConfig, ServerMode } from '../config/config.ts';
import type { Mongo } from '../database/mongo.ts';
import { EmailTemplates } from './email-templates.ts';
import { KnownNetworks } from './known-networks.ts';
import { type Email, EmailNotSent, type Mailer } from './mailer.ts';
import { mayNeedNotification, type SecurityLogRow, SecurityNotifications } from './notifications.ts';
import { Outbox } from './outbox.ts';
import { OutboxStore } from './outbox-store.ts';
import { EmailTemplateStore } from './template-store.ts';
import { type MailTransportKind, TestEmailSender } from './test-email.ts';

/** The options of a durable reader of the event log (events/read/consumer.ts). */
interface NoticesReader {
  readonly name: string;
  readonly concerns: (row: SecurityLogRow) => boolean;
  readonly handle: (rows: readonly SecurityLogRow[]) => Promise<void>;
}

interface LogConsumer {
  start(): void;
  stop(): Promise<void>;
}

export interface EmailServices {
  readonly outbox: Outbox;
  readonly emailTemplates: EmailTemplates;
  readonly testEmail: TestEmailSender;
  /**
   * Starts the notifications of users, where e-mails can be sent.
   * @param consumer creates a durable reader of the event log
   */
  startNotices(consumer: (options: NoticesReader) => LogConsumer): void;
}

export interface EmailServicesDeps {
  readonly mongo: Mongo;
  readonly mode: ServerMode;
  readonly config: Pick<AuthConfig, 'mail' | 'base' | 'language'>;
  readonly oneTimeTokens: { isFirst(what: string, ms: number): Promise<boolean> };
  readonly findUser: (id: string) => Promise<User | null>;
  /** Called with errors that no response can report. */
  readonly onError: (error: unknown) => void;
  /** Shows an e-mail in the terminal, in development. */
  readonly onEmail?: ((text: string) => void) | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Receives what stops the notifications; the caller starts and closes the outbox. */
  readonly cleanup: AsyncDisposableStack;
}

export async function createEmailServices(deps: EmailServicesDeps): Promise<EmailServices> {
  const { mongo, mode, config, oneTimeTokens, findUser, onError, onEmail, now, cleanup } = deps;
  const store = new OutboxStore(mongo);
  const networks = new KnownNetworks(mongo);
  await Promise.all([store.start(), networks.start()]);
  const way = mailWay(mode, config);
  const mail = await openMailer(way, config, onEmail);
  const emailTemplates = new EmailTemplates({ store: new EmailTemplateStore(mongo), onError, now });
  const { base, language } = config;
  const outbox = new Outbox({ store, mail, templates: emailTemplates, language, base, onError, now });
  // It composes queued e-mails, even if there are no new notifications.
  const notices = new SecurityNotifications({ outbox, networks, findUser, now });
  return {
    outbox,
    emailTemplates,
    testEmail: new TestEmailSender({ way, mail, oneTimeTokens }),
    startNotices: (consumer) => {
      if (way === 'none') return;
      const reader = consumer({
        name: 'notices',
        concerns: mayNeedNotification,
        handle: (rows) => notices.report(rows),
      });
      cleanup.adopt(reader, (it) => it.stop());
      reader.start();
    },
  };
}

/** Where e-mails of this instance go. */
export function mailWay(mode: ServerMode, { mail }: Pick<AuthConfig, 'mail'>): MailTransportKind {
  if (mail !== null) return 'smtp';
  return mode === 'development' ? 'terminal' : 'none';
}

async function openMailer(
  way: MailTransportKind,
  { mail }: Pick<AuthConfig, 'mail'>,
  onEmail: (text: string) => void = () => undefined,
): Promise<Mailer> {
  if (mail !== null) {
    // Loaded on first use: loading takes a tenth of a second.
    const { createSmtpMailer } = await import('./smtp-mailer.ts');
    return createSmtpMailer(mail.url, mail.from);
  }
  if (way === 'terminal') return createConsoleMailer(onEmail);
  return {
    send: async () => {
      throw new EmailNotSent('No mail server is set: MILLRACE_SMTP_URL', true);
    },
    close: () => {},
  };
}

/**
 * Prints e-mails instead of sending them: in development the terminal is the mailbox. Never in production.
 * @param print writes one message for the person at the terminal
 */
export function createConsoleMailer(print: (message: string) => void): Mailer {
  return {
    send: async ({ to, subject, text }: Email) => print(`E-mail to ${oneLine(to)}: ${oneLine(subject)}\n${text}`),
    close: () => {},
  };
}

/** In the form of a header value. */
function oneLine(value: string): string {
  return value.replace(/[\r\n]+/g, ' ');
}
