/** A server in production mode that listens, with policies and keys, for tests of the Zapier app. */
import type { Test } from 'tap';
import type { TestBundle } from '../../../integrations/zapier/test/app-tester.ts';
import { type Account, ask, signInOwner } from '../../helpers/accounts.ts';
import { buildTestApp, type TestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';

export interface ZapierWorld extends TestApp {
  readonly origin: string;
  readonly owner: Account;
  /** The connection of a new key with these roles. */
  connection(...roles: string[]): Promise<Required<Pick<TestBundle, 'authData'>> & { readonly keyId: string }>;
  /** Uploads a text as a file. */
  upload(name: string, text: string): Promise<{ readonly id: string; readonly url: string }>;
  /** What the owner gets. */
  asOwner(request: Parameters<typeof ask>[1], send?: object): Promise<ReturnType<typeof JSON.parse>>;
}

export async function zapierWorld(
  t: Test,
  policies: readonly object[],
  settings: Record<string, string> = {},
): Promise<ZapierWorld> {
  const own = { MILLRACE_MODE: 'production', MILLRACE_EGRESS_ALLOW: '127.0.0.1' };
  const { app, parts } = await buildTestApp(t, { ...own, ...settings });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInOwner(app, parts);
  withPolicies(parts, policies);
  return {
    app,
    parts,
    origin,
    owner,
    connection: async (...roles) => {
      const wanted = { name: `Zapier ${roles}`, roles, collections: null, actions: null, expiresAt: null };
      const { id, key } = await parts.auth.keys.create(wanted, { by: null, request: null });
      return { keyId: id, authData: { baseUrl: `${origin}/`, apiKey: key } };
    },
    upload: async (name, text) => {
      const form = new FormData();
      form.append('file', new File([text], name, { type: 'text/plain' }));
      const answer = await fetch(`${origin}/files`, { method: 'POST', body: form, headers: owner.headers });
      if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
      return JSON.parse(await answer.text());
    },
    asOwner: async (request, send) => {
      const answer = await ask(app, request, send, owner);
      if (answer.statusCode >= 300) throw new Error(`${request}: ${answer.statusCode} ${answer.body}`);
      return answer.body === '' ? null : answer.json();
    },
  };
}
