/** What every implementation of the mail door must do: hand over exactly what it was given, and refuse what is none. */
import type { Test } from 'tap';
import type { Email, Mailer } from '../../src/email/mailer.ts';

/** @param received all that arrived so far, as text */
export async function mailSuite(t: Test, mail: Mailer, received: () => string): Promise<void> {
  const email: Email = { to: 'ada@example.org', subject: 'Grüße', text: 'One line\nhttp://127.0.0.1/reset#abc_-9\n' };
  await t.test('it arrives with its address and its words', async (t) => {
    await mail.send(email);
    t.match(received(), /ada@example\.org/);
    t.match(received(), /http:\/\/127\.0\.0\.1\/reset#abc_-9/);
  });
  await t.test('an address that holds two goes to nobody else', async (t) => {
    await mail.send({ ...email, to: 'ada@example.org, eve@example.net' }).catch(() => {});
    t.notMatch(received(), /RCPT TO:<eve@example\.net>/);
  });
  await t.test('a line break in an address or a subject is no new header', async (t) => {
    await mail.send({ ...email, subject: 'Hi\r\nBcc: eve@example.net' }).catch(() => {});
    await mail.send({ ...email, to: 'ada@example.org\r\nBcc: eve@example.net' }).catch(() => {});
    t.notMatch(received(), /^Bcc:/im);
  });
  t.teardown(() => mail.close());
}
