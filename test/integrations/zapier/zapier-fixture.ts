/** A server in production mode that listens, with policies and keys, for tests of the Zapier app. */
import type { Test } from 'tap';
import type { TestBundle } from '../../../integrations/zapier/test/app-tester.ts';
import { buildTestApp, type TestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { type Account, ask, signInAdmin } from '../../helpers/users.ts';

export interface ZapierFixture extends TestApp {
  readonly origin: string;
  readonly owner: Account;
  /** The connection of a new key with these roles. */
  connection(...roles: string[]): Promise<Required<Pick<TestBundle, 'authData'>> & { readonly keyId: string }>;
  /** Uploads a text as a file. */
  upload(name: string, text: string): Promise<{ readonly id: string; readonly url: string }>;
  /** The administrator's view. */
  asAdmin(request: Parameters<typeof ask>[1], send?: object): Promise<ReturnType<typeof JSON.parse>>;
}

export async function zapierFixture(
  t: Test,
  policies: readonly object[],
  settings: Record<string, string> = {},
): Promise<ZapierFixture> {
  const own = { MILLRACE_MODE: 'production', MILLRACE_EGRESS_ALLOW: '127.0.0.1' };
  const { app, services } = await buildTestApp(t, { ...own, ...settings });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  withPolicies(services, policies);
  return {
    app,
    services,
    origin,
    owner,
    connection: async (...roles) => {
      const requested = { name: `Zapier ${roles}`, roles, resources: null, actions: null, expiresAt: null };
      const { id, key } = await services.auth.keys.create(requested, { by: null, request: null });
      return { keyId: id, authData: { baseUrl: `${origin}/`, apiKey: key } };
    },
    upload: async (name, text) => {
      const form = new FormData();
      form.append('file', new File([text], name, { type: 'text/plain' }));
      const response = await fetch(`${origin}/files`, { method: 'POST', body: form, headers: owner.headers });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      return JSON.parse(await response.text());
    },
    asAdmin: async (request, send) => {
      const response = await ask(app, request, send, owner);
      if (response.statusCode >= 300) throw new Error(`${request}: ${response.statusCode} ${response.body}`);
      return response.body === '' ? null : response.json();
    },
  };
}
