/** Uploads and downloads under way when their rights end: an upload leaves nothing, a download is cut off. */
import http, { type IncomingMessage } from 'node:http';
import t from 'tap';
import { ask, signUp } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { bytesOf } from '../helpers/files/stream-upload.ts';
import { countAll } from '../helpers/files/upload.ts';
import { beOwned, withPolicies } from '../helpers/policies.ts';
import { until } from '../helpers/until.ts';

const SIZE = 48 * 1_048_576;
const EVERYBODY = { collections: ['files'], actions: ['read', 'create'], principals: { authenticated: true } };
const HEAD =
  '--b\r\ncontent-disposition: form-data; name="file"; filename="large.bin"\r\n' +
  'content-type: application/octet-stream\r\n\r\n';

t.test('rights that end meanwhile', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' });
  await beOwned(parts);
  withPolicies(parts, [EVERYBODY]);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });

  /** An upload whose first bytes are stored; ending it gives the answer. */
  async function upload(headers: object): Promise<() => Promise<{ status: number; code: string; id: string }>> {
    const outgoing = http.request(`${url}/files`, {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' },
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject);
    });
    outgoing.write(HEAD);
    outgoing.write(Buffer.alloc(200_000));
    await until(async () => (await countAll(parts)).marks > 0, 'it is under way');
    return async () => {
      outgoing.end('\r\n--b--\r\n');
      const answer = await answered;
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk);
      const { code, id } = JSON.parse(Buffer.concat(chunks).toString());
      return { status: answer.statusCode ?? 0, code, id };
    };
  }

  await t.test('an upload whose session ended is refused before its commit, and leaves nothing', async (t) => {
    const account = await signUp(app, 'ada');
    const end = await upload(account.headers);
    await ask(app, 'POST /auth/logout', undefined, account);
    t.match(await end(), { status: 401, code: 'invalid-credential' });
    t.strictSame(await countAll(parts), { documents: 0, heads: 0, chunks: 0, marks: 0 });
  });

  await t.test('so is one whose session ended after it was let in, before its rights were watched', async (t) => {
    const account = await signUp(app, 'alan');
    const { authenticator } = parts.auth;
    const authenticate = authenticator.authenticate.bind(authenticator);
    authenticator.authenticate = async (authorization) => {
      authenticator.authenticate = authenticate;
      const principal = await authenticate(authorization);
      let told = 0;
      const end = authenticator.onRevoked((still) => {
        if (!still(principal)) told += 1;
      });
      t.equal((await ask(app, 'POST /auth/logout', undefined, account)).statusCode, 204);
      await until(() => told === 2, 'the end is told by the request, and by the log');
      end();
      return principal;
    };
    const end = await upload(account.headers);
    t.match(await end(), { status: 401, code: 'invalid-credential' });
    t.strictSame(await countAll(parts), { documents: 0, heads: 0, chunks: 0, marks: 0 });
  });

  await t.test('so is one that no policy allows any more', async (t) => {
    const account = await signUp(app, 'grace');
    const end = await upload(account.headers);
    withPolicies(parts, [{ ...EVERYBODY, actions: ['read'] }]);
    t.match(await end(), { status: 403, code: 'policy-revoked' });
    t.strictSame(await countAll(parts), { documents: 0, heads: 0, chunks: 0, marks: 0 });
    withPolicies(parts, [EVERYBODY]);
  });

  await t.test('a download is cut off', async (t) => {
    const account = await signUp(app, 'edsger');
    const form = new FormData();
    form.append('file', new File([...bytesOf(1, SIZE)], 'large.bin'));
    const made = await fetch(`${url}/files`, { method: 'POST', body: form, headers: account.headers });
    const address = JSON.parse(await made.text()).url;
    const begin = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const request = http.get(address, { agent: false, headers: account.headers }, (answer) => {
          answer.on('error', () => {});
          answer.once('readable', () => {
            answer.read(1);
            resolve(answer);
          });
        });
        request.once('error', reject);
      });
    const readOn = (answer: IncomingMessage) =>
      new Promise<number>((resolve) => {
        let bytes = 1;
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        answer.once('close', () => resolve(bytes));
      });
    t.equal(await readOn(await begin()), SIZE, 'as long as nothing changes it comes whole');
    const revoked = await begin();
    await ask(app, 'POST /auth/logout', undefined, account);
    const bytes = await readOn(revoked);
    t.equal(revoked.complete, false);
    t.ok(bytes < SIZE / 2, `${bytes} bytes`);
  });
});
