/** Running uploads and downloads whose rights end: an upload leaves nothing, a download is aborted. */
import http, { type IncomingMessage } from 'node:http';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { bytesOf } from '../helpers/files/stream-upload.ts';
import { countAll } from '../helpers/files/upload.ts';
import { beOwned, withPolicies } from '../helpers/policies.ts';
import { until } from '../helpers/until.ts';
import { ask, signUp } from '../helpers/users.ts';

const SIZE = 48 * 1_048_576;
const EVERYBODY = { resources: ['_files'], actions: ['read', 'create'], principals: { authenticated: true } };
const HEAD =
  '--b\r\ncontent-disposition: form-data; name="file"; filename="large.bin"\r\n' +
  'content-type: application/octet-stream\r\n\r\n';

t.test('Uploads and downloads end with their rights.', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' });
  await beOwned(services);
  withPolicies(services, [EVERYBODY]);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });

  /** An upload whose first bytes are stored; ending it returns the response. */
  async function upload(headers: object): Promise<() => Promise<{ status: number; code: string; id: string }>> {
    const outgoing = http.request(`${url}/files`, {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' },
    });
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject);
    });
    outgoing.write(HEAD);
    outgoing.write(Buffer.alloc(200_000));
    await until(async () => (await countAll(services)).marks > 0, 'it is under way');
    return async () => {
      outgoing.end('\r\n--b--\r\n');
      const result = await response;
      const chunks: Buffer[] = [];
      for await (const chunk of result) chunks.push(chunk);
      const { code, id } = JSON.parse(Buffer.concat(chunks).toString());
      return { status: result.statusCode ?? 0, code, id };
    };
  }

  await t.test('an upload whose session ended is rejected before its commit, and leaves nothing', async (t) => {
    const user = await signUp(app, 'ada');
    const end = await upload(user.headers);
    await ask(app, 'POST /auth/logout', undefined, user);
    t.match(await end(), { status: 401, code: 'invalid-token' });
    t.strictSame(await countAll(services), { documents: 0, heads: 0, chunks: 0, marks: 0 });
  });

  await t.test(
    'an upload is rejected whose session ended after it was admitted, before its rights were watched',
    async (t) => {
      const user = await signUp(app, 'alan');
      const { authenticator } = services.auth;
      const authenticate = authenticator.authenticate.bind(authenticator);
      authenticator.authenticate = async (authorization) => {
        authenticator.authenticate = authenticate;
        const principal = await authenticate(authorization);
        let reported = 0;
        const end = authenticator.onRevoked((still) => {
          if (!still(principal)) reported += 1;
        });
        t.equal((await ask(app, 'POST /auth/logout', undefined, user)).statusCode, 204);
        await until(() => reported === 2, 'the request and the log report the end');
        end();
        return principal;
      };
      const end = await upload(user.headers);
      t.match(await end(), { status: 401, code: 'invalid-token' });
      t.strictSame(await countAll(services), { documents: 0, heads: 0, chunks: 0, marks: 0 });
    },
  );

  await t.test('an upload is rejected that no policy allows any more', async (t) => {
    const user = await signUp(app, 'grace');
    const end = await upload(user.headers);
    withPolicies(services, [{ ...EVERYBODY, actions: ['read'] }]);
    t.match(await end(), { status: 403, code: 'policy-revoked' });
    t.strictSame(await countAll(services), { documents: 0, heads: 0, chunks: 0, marks: 0 });
    withPolicies(services, [EVERYBODY]);
  });

  await t.test('A download whose rights end is aborted.', async (t) => {
    const user = await signUp(app, 'edsger');
    const form = new FormData();
    form.append('file', new File([...bytesOf(1, SIZE)], 'large.bin'));
    const created = await fetch(`${url}/files`, { method: 'POST', body: form, headers: user.headers });
    const address = JSON.parse(await created.text()).url;
    const begin = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const request = http.get(address, { agent: false, headers: user.headers }, (response) => {
          response.on('error', () => {});
          response.once('readable', () => {
            response.read(1);
            resolve(response);
          });
        });
        request.once('error', reject);
      });
    const readOn = (response: IncomingMessage) =>
      new Promise<number>((resolve) => {
        let bytes = 1;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        response.once('close', () => resolve(bytes));
      });
    t.equal(await readOn(await begin()), SIZE, 'as long as nothing changes it comes whole');
    const revoked = await begin();
    await ask(app, 'POST /auth/logout', undefined, user);
    const bytes = await readOn(revoked);
    t.equal(revoked.complete, false);
    t.ok(bytes < SIZE / 2, `${bytes} bytes`);
  });
});
