/**
 * Runs after each new user, and has an e-mail service send a welcome. A run may be repeated after an error, so the service gets
 * `ctx.run.key`, which is the same on every attempt: it sends one e-mail per key.
 */
const SERVICE = 'http://127.0.0.1:8025/send';

interface Account {
  kind?: string;
  email?: string | null;
  username?: string | null;
}

export default (async ({ data }, ctx) => {
  if (data?.kind !== 'user' || !data.email) return;
  const name = data.username ?? data.email.split('@')[0];
  const answer = await ctx.fetch(SERVICE, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${ctx.secrets.MAIL_KEY}`,
      'idempotency-key': ctx.run.key,
    },
    body: JSON.stringify({ to: data.email, subject: 'Welcome', text: `Hello ${name}, welcome.` }),
  });
  // An error fails the attempt: it is retried after 1 s, 10 s, 1 min and 10 min.
  if (!answer.ok) throw new Error(`The e-mail service responded with ${answer.status}: ${await answer.text()}`);
  ctx.log.info('Sent a welcome to', data.email);
}) satisfies Millrace.Trigger<Account>;
