/** Opens the way that letters go: a mail server, the terminal in development, or none. Not here: the letters. */
import type { AuthConfig, Mode } from '../kernel/config/config.ts';
import { logMail } from './sign-in/log-mail.ts';
import type { Mail } from './sign-in/mail.ts';
import type { MailWay } from './sign-in/test-letters.ts';

export interface MailSettings {
  readonly mode: Mode;
  readonly auth: Pick<AuthConfig, 'mail'>;
  /** Called with errors that no answer can report. */
  readonly onError: (error: unknown) => void;
  /** Shows a letter at the terminal, in development. */
  readonly onLetter?: (text: string) => void;
}

/** What takes the letters of an installation. */
export function mailWay({ mode, auth }: MailSettings): MailWay {
  if (auth.mail !== null) return 'smtp';
  return mode === 'development' ? 'terminal' : 'none';
}

/** Opens the way that letters go. */
export async function openMail({ mode, auth, onLetter, onError }: MailSettings): Promise<Mail> {
  if (auth.mail !== null) {
    // Loaded only when it is used: loading takes a tenth of a second.
    const { smtpMail } = await import('./sign-in/smtp-mail.ts');
    return smtpMail(auth.mail.url, auth.mail.from);
  }
  if (mode === 'development') return logMail(onLetter ?? (() => {}));
  return {
    send: async () => onError(new Error('A letter was not sent: MILLRACE_SMTP_URL is not set')),
    close: () => {},
  };
}
