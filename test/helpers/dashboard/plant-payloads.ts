/** Texts that try to become scripts, put wherever the server keeps a text of a client. Not here: the texts (script-payloads.ts). */
import type { FastifyInstance } from 'fastify';
import { type Account, ask } from '../accounts.ts';
import { multipart } from '../files/upload.ts';
import { until } from '../until.ts';
import { SCRIPT_PAYLOADS } from './script-payloads.ts';

/** Puts the payloads wherever a text of a client is kept. @returns where each is shown, and a text that must be there */
export async function plantPayloads(app: FastifyInstance, owner: Account) {
  const made = async (request: Parameters<typeof ask>[1], body: object) => {
    const answer = await ask(app, request, body, owner);
    if (answer.statusCode >= 300) throw new Error(`${request}: ${answer.statusCode} ${answer.body}`);
    return answer.json();
  };
  const documents = SCRIPT_PAYLOADS.map((text, index) => ({
    at: index,
    text,
    nested: { list: [text, { [text]: text }] },
  }));
  await made('POST /api/notes', documents);
  // As names of members, in documents of their own: columns of the grid.
  for (const text of SCRIPT_PAYLOADS) await made('POST /api/named', { [text]: text });
  const first = SCRIPT_PAYLOADS[12] ?? '';
  const users = [];
  for (const [index, text] of SCRIPT_PAYLOADS.entries()) {
    const user = {
      username: `user-${index}`,
      roles: [],
      profile: { name: text, [text]: text },
      claims: { team: text },
    };
    users.push(await made('POST /admin/users', user));
    await made('POST /admin/keys', { name: text.slice(0, 100) });
  }
  const endpoints = [];
  for (const text of SCRIPT_PAYLOADS.slice(0, 20)) {
    const targetUrl = 'https://example.invalid/x';
    endpoints.push(await made('POST /webhooks/endpoints', { url: targetUrl, types: ['never.*'], name: text }));
    await made('POST /hooks', { targetUrl, event: 'never.created', filter: { a: text } });
  }
  for (const [index, text] of SCRIPT_PAYLOADS.slice(0, 20).entries()) {
    await made('POST /admin/policies', {
      name: `${index} ${text}`.slice(0, 100),
      collections: ['none'],
      actions: ['read'],
      effect: 'allow',
    });
  }
  for (const name of SCRIPT_PAYLOADS) {
    const { send, headers } = await multipart({ name });
    await app.inject({ method: 'POST', url: '/files', payload: send, headers: { ...headers, ...owner.headers } });
  }
  const say = `export default (input, ctx) => {
    const texts = ${JSON.stringify(SCRIPT_PAYLOADS)};
    for (const text of texts) ctx.log.info(text);
    return texts;
  }`;
  const functions = [{ name: 'say', file: 'say.js', http: { method: 'POST', path: '/planted/say' } }];
  await made('PUT /admin/plugins/planted', {
    manifest: { name: 'planted', functions },
    files: { 'say.js': say },
  });
  await made('POST /fn/planted/say', {});
  const runs = async () => (await ask(app, 'GET /admin/runs', undefined, owner)).json() as { readonly id: string }[];
  await until(async () => (await runs()).length > 0, 'the run is stored');
  const [run] = await runs();
  const one = documents[12];
  if (one === undefined) throw new Error('There are 60');
  return [
    { path: '/data', shows: 'notes' },
    { path: '/data/notes', shows: first },
    { path: '/data/named', shows: SCRIPT_PAYLOADS[59] ?? '' },
    { path: '/files', shows: 'onerror' },
    { path: '/users?search=user-59', shows: 'user-59' },
    { path: `/users?user=${users[12]?.id}`, shows: first },
    { path: '/keys', shows: 'alert(1)' },
    { path: '/functions/planted?file=say.js', shows: 'say.js' },
    { path: `/functions?tab=runs&run=${run?.id}`, shows: first },
    { path: '/integrations', shows: 'alert(1)' },
    { path: '/webhooks', shows: 'alert(1)' },
    { path: `/webhooks?endpoint=${endpoints[12]?.id}`, shows: first },
  ];
}
