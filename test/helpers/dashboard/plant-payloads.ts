/** Texts that try to become scripts, in every place where the server stores a text of a client. */
import type { FastifyInstance } from 'fastify';
import { multipart } from '../files/upload.ts';
import { until } from '../until.ts';
import { type Account, ask } from '../users.ts';
import { SCRIPT_PAYLOADS } from './script-payloads.ts';

/**
 * Stores the payloads in every text that a client can set.
 * @returns the page that shows each, and a text that must be on it
 */
export async function plantPayloads(app: FastifyInstance, owner: Account) {
  const created = async (request: Parameters<typeof ask>[1], body: object) => {
    const response = await ask(app, request, body, owner);
    if (response.statusCode >= 300) throw new Error(`${request}: ${response.statusCode} ${response.body}`);
    return response.json();
  };
  const documents = SCRIPT_PAYLOADS.map((text, index) => ({
    at: index,
    text,
    nested: { list: [text, { [text]: text }] },
  }));
  await created('POST /api/notes', documents);
  // As field names, in documents of their own: columns of the grid.
  for (const text of SCRIPT_PAYLOADS) await created('POST /api/named', { [text]: text });
  const first = SCRIPT_PAYLOADS[12] ?? '';
  const users = [];
  for (const [index, text] of SCRIPT_PAYLOADS.entries()) {
    const user = {
      username: `user-${index}`,
      roles: [],
      profile: { name: text, [text]: text },
      claims: { team: text },
    };
    users.push(await created('POST /admin/users', user));
    await created('POST /admin/keys', { name: text.slice(0, 100) });
  }
  const endpoints = [];
  for (const text of SCRIPT_PAYLOADS.slice(0, 20)) {
    const targetUrl = 'https://example.invalid/x';
    endpoints.push(await created('POST /webhooks/endpoints', { url: targetUrl, types: ['never.*'], name: text }));
    await created('POST /hooks', { targetUrl, event: 'never.created', filter: { a: text } });
  }
  for (const [index, text] of SCRIPT_PAYLOADS.slice(0, 20).entries()) {
    await created('POST /admin/policies', {
      name: `${index} ${text}`.slice(0, 100),
      resources: ['none'],
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
  await created('PUT /admin/plugins/planted', {
    manifest: { name: 'planted', functions },
    files: { 'say.js': say },
  });
  await created('POST /fn/planted/say', {});
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
