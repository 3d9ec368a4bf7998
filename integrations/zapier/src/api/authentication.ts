/** A connection: the base URL of an instance and an API key. */
import type { Authentication, Bundle, ZObject } from 'zapier-platform-core';
import zapier from 'zapier-platform-core';
import { baseOf, call } from './requests.ts';

/** Requests the identity of the key, which every key may read. */
async function test(z: ZObject, bundle: Bundle): Promise<object> {
  const { data } = await call(z, ['auth', 'me']);
  if (typeof data !== 'object' || data === null || typeof data.kind !== 'string') {
    throw new zapier.errors.Error(
      `${baseOf(bundle)} responded, but not like Millrace. Check the base URL.`,
      'unexpected-response',
    );
  }
  const { kind, id, name = null, username = null, email = null } = data;
  return { kind, id, name: name ?? username ?? email ?? id, host: new URL(baseOf(bundle)).host };
}

export const authentication: Authentication = {
  type: 'custom',
  test,
  connectionLabel: async (_z: ZObject, { inputData }: Bundle) => `${inputData['name']} at ${inputData['host']}`,
  fields: [
    {
      key: 'baseUrl',
      label: 'Base URL',
      type: 'string',
      required: true,
      placeholder: 'https://api.example.org',
      helpText: 'The URL of your Millrace, as in https://api.example.org (without /api).',
    },
    {
      key: 'apiKey',
      label: 'API Key',
      type: 'password',
      required: true,
      helpText:
        'Created in the dashboard of Millrace under Keys. Its roles need policies for the collections to use, and one for **webhooks** to use triggers.',
    },
  ],
};
