/**
 * One row for each route of the program: the request, which other principals may send it, and the result of the
 * permitted one. Words in braces are filled with what exists for the row alone: a post, a file, a user, a session, a
 * key, a policy.
 */
import { apiReferenceVersion } from '../../src/http/docs/api-reference-script.ts';
import { type Row, row } from '../helpers/matrix/matrix-row.ts';

/** A post as a team member sees it: of its own team, without its secret. */
const POST = { id: /.+/, team: 'a', title: /.+/, secret: undefined };
const FILE = { id: /^[0-9a-f]{24}$/, url: /\/files\//, name: /.+/, sha256: undefined };
const WRITE = { prefer: 'max-affected=10' };
const NOBODY = { principals: { roles: ['nobody'] } };
const POLICY = { name: 'Made', resources: ['others'], actions: ['read'], ...NOBODY, effect: 'allow' };
const CASE = { principal: { kind: 'anonymous' }, action: 'read', resource: 'posts', expect: 'deny' };
const { expect: _, ...QUERY } = CASE;
const PROVIDER = { kind: 'oidc', clientId: 'c', clientSecret: 'never shown', issuer: 'https://id.example.invalid' };
const NEW_ENDPOINT = { url: 'https://example.invalid/hook', types: ['never.*'], headers: { 'x-a': 'never shown' } };
const ENDPOINT = { url: NEW_ENDPOINT.url, headers: { 'x-a': '•••' }, health: { breaker: 'closed' }, secret: undefined };
const NEW_HOOK = { targetUrl: NEW_ENDPOINT.url, event: 'never.created' };
const HOOK = { ...NEW_HOOK, id: /.+/, enabled: true, secret: undefined };
const PLUGIN = { name: /.+/, version: '1', functions: [{ name: 'made', state: 'active' }] };
/** A plugin with one function, which runs by itself only. */
export const newPlugin = (name: string) => ({
  manifest: { name, secrets: ['KEY'], functions: [{ name: 'made', file: 'made.js', job: true }] },
  files: { 'made.js': 'export default () => 1' },
});
const NEW_PLUGIN = newPlugin('made');
const EMAIL = '/admin/email-templates/test/en';
const PASSWORD = 'four wooden ships sail';

export const ROWS: readonly Row[] = [
  row('GET /healthz', 'public', 200, { body: { status: 'ok' } }),
  row('GET /readyz', 'public', 200, { body: { status: 'ready' } }),
  row('GET /.well-known/jwks.json', 'public', 200, { body: { keys: [{ d: undefined }] } }),
  row('GET /setup', 'public', 302),
  row('POST /setup', 'public', 400, { send: {} }),
  row('GET /verify', 'public', 200),
  row('GET /open-app', 'public', 400),
  row('GET /reset', 'public', 200),
  row('GET /docs', 'public', 200),
  row('GET /docs/page.js', 'public', 200),
  row('GET /docs/page.css', 'public', 200),
  row(`GET /docs/reference-${await apiReferenceVersion()}.js`, 'public', 200),
  row('GET /dashboard', 'public', 200),
  row('GET /dashboard*', 'public', 200, { url: '/dashboard/data/posts' }),
  row('GET /dashboard/assets/:name', 'public', 404, {
    url: '/dashboard/assets/none.js',
    body: { code: 'route-not-found' },
  }),
  row('GET /dashboard/session', 'public', 200, { body: { signedIn: false, open: false } }),
  row('POST /dashboard/session', 'public', 400, { send: {} }),
  row('PUT /dashboard/session', 'public', 401),
  row('DELETE /dashboard/session', 'public', 204),
  row('POST /auth/register', 'public', 403, {
    send: { username: 'new', password: PASSWORD },
    body: { code: /closed|forbidden/ },
  }),
  row('POST /auth/login', 'public', 400, { send: {} }),
  row('POST /auth/mfa/login', 'public', 400, { send: {} }),
  row('POST /auth/passkeys/authentication-options', 'public', 200, { send: {}, body: { rpId: 'localhost' } }),
  row('POST /auth/passkeys/login', 'public', 400, { send: {} }),
  row('POST /auth/refresh', 'public', 400, { send: {} }),
  row('POST /auth/verify', 'public', 400, { send: {} }),
  row('POST /auth/reset', 'public', 400, { send: {} }),
  row('POST /auth/reset/confirm', 'public', 400, { send: {} }),
  row('POST /auth/exchange', 'public', 400, { send: {} }),
  row('POST /auth/magic-link', 'public', 403, { send: { email: 'a@example.org' } }),
  row('POST /auth/magic-link/verify', 'public', 400, { send: {} }),
  row('GET /signin', 'public', 200),
  row('GET /auth/providers/:provider', 'public', 404),
  row('GET /auth/providers/:provider/callback', 'public', 404),
  row('POST /auth/providers/:provider/callback', 'public', 400),
  row('GET /auth/saml/:provider/metadata', 'public', 404),
  row('POST /auth/saml/:provider/acs', 'public', 400),
  row('GET /auth/saml/:provider/slo', 'public', 404),
  row('POST /auth/saml/:provider/slo', 'public', 400),
  row('GET /auth/providers', 'public', 200, { body: { registration: 'closed' } }),

  row('GET /auth/me', 'account', 200, { keyed: true, body: { id: /.+/, passwordHash: undefined } }),
  row('PATCH /auth/me', 'account', 200, { send: { profile: {} }, body: { id: /.+/ } }),
  row('GET /auth/sessions', 'account', 200, { body: [{ id: /.+/ }] }),
  row('DELETE /auth/sessions/:id', 'account', 404, { url: '/auth/sessions/nobodys' }),
  row('POST /auth/password', 'account', 400, { send: {} }),
  row('POST /auth/logout/provider', 'account', 400, { send: {} }),
  row('GET /auth/identities', 'account', 200, { body: [] }),
  row('POST /auth/identities', 'account', 400, { send: {} }),
  row('POST /auth/identities/:provider', 'account', 400, { send: {} }),
  row('DELETE /auth/identities/:provider', 'account', 404),
  row('GET /auth/mfa', 'account', 200, { body: { since: null, recoveryCodes: 0 } }),
  row('POST /auth/mfa/totp', 'account', 201, { body: { uri: /^otpauth:/, encrypted: undefined } }),
  row('POST /auth/mfa/totp/confirm', 'account', 400, { send: {} }),
  row('DELETE /auth/mfa/totp', 'account', 404),
  row('POST /auth/mfa/recovery-codes', 'account', 404),
  row('GET /auth/passkeys', 'account', 200, { body: { passkeys: [] } }),
  row('POST /auth/passkeys/registration-options', 'account', 200, { body: { rp: { id: 'localhost' } } }),
  row('POST /auth/passkeys', 'account', 400, { send: {} }),
  row('PATCH /auth/passkeys/:id', 'account', 404, { send: { name: 'Phone' } }),
  row('DELETE /auth/passkeys/:id', 'account', 404),
  row('POST /auth/reauthenticate', 'account', 204, { send: { password: PASSWORD } }),
  row('POST /auth/ticket', 'account', 200, { body: { ticket: /.+/ } }),
  row('POST /auth/logout', 'account', 204),

  row('GET /api/:collection', 'documents', 200, { body: [POST], as: true }),
  row('POST /api/:collection/_query', 'documents', 200, { send: {}, body: [POST], reads: true, as: true }),
  row('GET /api/:collection/_changes', 'documents', 200, { body: { changes: [], position: /.+/ }, as: true }),
  row('GET /api/:collection/:id', 'documents', 200, { body: POST, as: true }),
  row('GET /api/:collection/:id/_history', 'documents', 200, { body: { events: [] }, as: true }),
  row('POST /api/:collection', 'documents', 201, { send: { title: 'new' }, body: POST }),
  row('PATCH /api/:collection', 'documents', 200, {
    url: '/api/posts?team=a',
    send: { title: 'x' },
    headers: WRITE,
    body: { matched: 1 },
  }),
  row('DELETE /api/:collection', 'documents', 200, {
    url: '/api/posts?filter={}',
    headers: WRITE,
    body: { matched: 1 },
  }),
  row('PUT /api/:collection/:id', 'documents', 200, { send: { team: 'a', title: 'x' }, body: POST }),
  row('PATCH /api/:collection/:id', 'documents', 200, { send: { title: 'x' }, body: POST }),
  row('DELETE /api/:collection/:id', 'documents', 204),
  row('POST /batch', 'documents', 200, {
    send: { operations: [{ method: 'POST', path: '/api/posts', body: { title: 'x' } }] },
    body: { results: [{ status: 201, body: POST }] },
  }),

  row('GET /files', 'documents', 200, { body: [FILE], as: true }),
  row('POST /files', 'documents', 200, { upload: 'file', body: FILE }),
  row('POST /files/bulk', 'documents', 200, { upload: 'files', body: [FILE] }),
  row('GET /files/:id', 'documents', 200, { body: FILE, as: true }),
  row('GET /files/:id/:name', 'documents', 200, { as: true }),
  row('POST /files/:id/sign', 'documents', 200, { send: {}, body: { url: /signature=/ }, viewed: true }),
  row('DELETE /files/:id', 'documents', 204),

  row('GET /events', 'build', 200, { body: { events: [], position: /.+/ }, as: true }),
  row('GET /openapi.json', 'build', 200, { body: { openapi: '3.1.0' } }),
  row('GET /admin/status', 'build', 200, { body: { events: {}, realtime: { connections: Number } } }),
  row('GET /admin/collections', 'build', 200, { body: [{ name: /.+/ }] }),
  row('PATCH /admin/collections/:collection', 'build', 200, { send: { name: 'posts2' }, body: { name: 'posts2' } }),
  row('DELETE /admin/collections/:collection', 'build', 204),
  row('GET /admin/collections/:collection/indexes', 'build', 200, { body: [] }),
  row('PUT /admin/collections/:collection/indexes', 'build', 200, { send: [], body: [] }),
  row('GET /admin/plugin-types', 'build', 200),
  row('GET /admin/policies', 'build', 200, { body: { version: Number, policies: [] } }),
  row('POST /admin/policies', 'build', 201, { send: POLICY, body: POLICY }),
  row('PUT /admin/policies/:id', 'build', 200, { send: { ...POLICY, name: 'Other' }, body: { name: 'Other' } }),
  row('DELETE /admin/policies/:id', 'build', 204),
  row('GET /admin/policies/versions', 'build', 200, { body: [{ version: Number }] }),
  row('POST /admin/policies/versions/:version/restore', 'build', 200, { body: { version: Number } }),
  row('POST /admin/policies/test', 'build', 200, { send: QUERY, body: { decision: 'deny' }, reads: true }),
  row('POST /admin/policies/preview', 'build', 200, {
    send: { id: 'drafted', policy: { ...POLICY, name: 'Drafted' } },
    body: { events: { complete: true }, principals: { examined: ['anonymous'] }, hidden: { count: 0 } },
  }),
  row('POST /admin/policies/check', 'build', 200, { send: { cases: [CASE] }, body: { passed: 1 }, reads: true }),

  row('GET /admin/runs', 'build', 200, { body: [] }),
  row('GET /admin/runs/live', 'build', 400, { url: '/admin/runs/live?state=ok' }),
  row('GET /admin/runs/:id', 'build', 404, { url: '/admin/runs/none' }),
  row('POST /admin/runs/:id/rerun', 'build', 404, { url: '/admin/runs/none/rerun' }),
  row('POST /admin/plugins/:name/functions/:functionName/replay', 'build', 404, {
    url: '/admin/plugins/none/functions/none/replay',
    send: { since: '1-0' },
  }),

  row('GET /webhooks/endpoints', 'build', 200, { body: [{ ...ENDPOINT, headers: Object }] }),
  row('POST /webhooks/endpoints', 'build', 201, { send: NEW_ENDPOINT, body: { ...ENDPOINT, secret: /^whsec_/ } }),
  row('GET /webhooks/endpoints/:id', 'build', 200, { body: ENDPOINT }),
  row('PATCH /webhooks/endpoints/:id', 'build', 200, { send: { name: 'Other' }, body: { ...ENDPOINT, name: 'Other' } }),
  row('DELETE /webhooks/endpoints/:id', 'build', 204),
  row('POST /webhooks/endpoints/:id/rotate', 'build', 200, { send: {}, body: { secret: /^whsec_/ } }),
  row('POST /webhooks/endpoints/:id/test', 'build', 202, { send: {}, body: { type: 'system.webhook.test' } }),
  row('POST /webhooks/endpoints/:id/recover', 'build', 202, {
    send: { since: '2026-01-01T00:00:00Z' },
    body: { count: 0 },
  }),
  row('POST /webhooks/endpoints/:id/replay', 'build', 410, { send: { since: '9-1' } }),
  row('GET /webhooks/replays/:id', 'build', 404, { url: '/webhooks/replays/none' }),
  row('GET /webhooks/deliveries', 'build', 200, { url: '/webhooks/deliveries?endpoint=none', body: [] }),
  row('GET /webhooks/deliveries/:id', 'build', 404, { url: '/webhooks/deliveries/none' }),
  row('GET /webhooks/deliveries/:id/attempts', 'build', 404, { url: '/webhooks/deliveries/none/attempts' }),
  row('POST /webhooks/deliveries/:id/resend', 'build', 404, { url: '/webhooks/deliveries/none/resend' }),

  row('GET /hooks', 'build', 200, { body: [HOOK] }),
  row('POST /hooks', 'build', 201, { send: NEW_HOOK, body: { ...HOOK, secret: /^whsec_/ } }),
  row('GET /hooks/:id', 'build', 200, { body: HOOK }),
  row('DELETE /hooks/:id', 'build', 204),
  row('GET /api', 'documents', 200, { body: [{ name: 'posts', label: 'Posts' }] }),
  row('GET /api/:collection/_schema', 'documents', 200, {
    body: { type: 'object', properties: { id: Object, title: { type: 'string' }, secret: undefined } },
  }),
  row('GET /api/:collection/_samples', 'documents', 200, { body: [{ type: 'posts.created', data: POST }] }),

  row('GET /admin/plugins', 'build', 200, { body: [{ name: /.+/ }] }),
  row('GET /admin/plugins/:name', 'build', 200, { body: PLUGIN }),
  row('PUT /admin/plugins/:name', 'build', 201, {
    url: '/admin/plugins/made',
    send: NEW_PLUGIN,
    body: { name: 'made' },
  }),
  row('PATCH /admin/plugins/:name', 'build', 200, { send: { enabled: false }, body: { enabled: false } }),
  row('DELETE /admin/plugins/:name', 'build', 204),
  row('GET /admin/plugins/:name/versions', 'build', 200, { body: [{ version: 1 }] }),
  row('GET /admin/plugins/:name/versions/:version', 'build', 200, { body: { version: 1 } }),
  row('POST /admin/plugins/:name/versions/:version/activate', 'build', 200, { body: PLUGIN }),
  row('PUT /admin/plugins/:name/secrets/:secret', 'build', 204, { send: { value: 'never shown' } }),
  row('DELETE /admin/plugins/:name/secrets/:secret', 'build', 204),
  row('GET /admin/jobs', 'build', 200, { body: [{ id: /.+/, state: 'pending' }] }),
  row('DELETE /admin/jobs/:id', 'build', 204),
  row('POST /admin/plugins/:name/dry-run', 'build', 503, {
    send: { function: 'made', input: null },
    body: { code: 'functions-disabled' },
  }),
  row('POST /admin/plugins/:name/functions/:functionName/unquarantine', 'build', 200, { body: PLUGIN }),

  row('GET /admin/users', 'accounts', 200, { body: [{ id: /.+/ }] }),
  row('POST /admin/users', 'accounts', 201, {
    send: { username: 'made', password: PASSWORD },
    body: { username: 'made' },
  }),
  row('GET /admin/users/:id', 'accounts', 200, { body: { id: /.+/ } }),
  row('PATCH /admin/users/:id', 'accounts', 200, { send: { roles: ['x'] }, body: { roles: ['x'] } }),
  row('GET /admin/users/:id/identities', 'accounts', 200, { body: [] }),
  row('DELETE /admin/users/:id/mfa', 'accounts', 404),
  row('GET /admin/users/:id/passkeys', 'accounts', 200, { body: { passkeys: [] } }),
  row('DELETE /admin/users/:id/passkeys', 'accounts', 204),
  row('GET /admin/users/:id/sessions', 'accounts', 200, { body: [{ id: /.+/ }] }),
  row('DELETE /admin/users/:id/sessions/:session', 'accounts', 204),
  row('DELETE /admin/users/:id/sessions', 'accounts', 204),
  row('DELETE /admin/users/:id', 'accounts', 204),
  row('GET /admin/keys', 'accounts', 200, { body: [{ id: /.+/, key: undefined }] }),
  row('POST /admin/keys', 'accounts', 201, { send: { name: 'new' }, body: { key: /^mr_/ } }),
  row('GET /admin/keys/:id', 'accounts', 200, { body: { id: /.+/, key: undefined } }),
  row('DELETE /admin/keys/:id', 'accounts', 204),
  row('GET /admin/providers', 'accounts', 200, { body: [{ name: /.+/, clientSecret: { set: true } }] }),
  row('POST /admin/providers', 'accounts', 201, {
    send: { ...PROVIDER, name: 'made' },
    body: { name: 'made', clientSecret: { set: true } },
  }),
  row('GET /admin/providers/:name', 'accounts', 200, { body: { name: /.+/, clientSecret: { set: true } } }),
  row('PUT /admin/providers/:name', 'accounts', 200, { send: PROVIDER, body: { clientSecret: { set: true } } }),
  row('DELETE /admin/providers/:name', 'accounts', 204),
  row('POST /admin/providers/:name/check', 'accounts', 200, { body: { passed: false, redirectUrl: /\/callback$/ } }),
  row('GET /admin/settings', 'accounts', 200, { body: { redirectUrls: [], configuredRedirectUrls: [] } }),
  row('PATCH /admin/settings', 'accounts', 200, {
    send: { redirectUrls: ['https://app.example.org/in'] },
    body: { redirectUrls: ['https://app.example.org/in'] },
  }),
  row('GET /admin/settings/effective', 'accounts', 200, { body: { mode: /.+/, email: { transport: /.+/ } } }),
  row('POST /admin/emails/test', 'accounts', 200, { body: { sent: Boolean, message: /.+/ } }),
  row('GET /admin/email-templates', 'accounts', 200, { body: [{ kind: 'verify-email', locale: 'en' }] }),
  row('GET /admin/emails', 'accounts', 200, { body: Array }),
  row('GET /admin/email-templates/:kind/:locale', 'accounts', 200, { url: EMAIL, body: { updatedAt: null } }),
  row('PUT /admin/email-templates/:kind/:locale', 'accounts', 400, { url: EMAIL, send: {} }),
  row('DELETE /admin/email-templates/:kind/:locale', 'accounts', 204, { url: EMAIL }),
  row('POST /admin/email-templates/:kind/:locale/preview', 'accounts', 200, { url: `${EMAIL}/preview`, send: {} }),
  row('POST /admin/email-templates/:kind/:locale/test', 'accounts', 200, { url: `${EMAIL}/test`, send: {} }),
  row('GET /admin/audit', 'accounts', 200, { body: [] }),
];

/** Routes whose rights have their own tests, such as an upgrade, which authenticates in a frame. */
export const ELSEWHERE: readonly string[] = [
  'GET /realtime',
  // `/fn/*` as Fastify prints it: one route for all endpoints (test/functions/endpoints/rights.test.ts).
  ...['DELETE', 'GET', 'OPTIONS', 'PATCH', 'POST', 'PUT'].map((method) => `${method} *`),
];
