/** A connection: the address of an installation and an API key. Not here: how requests carry them (requests.ts). */
import type { Authentication, Bundle, ZObject } from 'zapier-platform-core';
import zapier from 'zapier-platform-core';
import { baseOf, call } from './requests.ts';

/** Asks who the key is, which every key may. */
async function test(z: ZObject, bundle: Bundle): Promise<object> {
  const { data } = await call(z, ['auth', 'me']);
  if (typeof data !== 'object' || data === null || typeof data.kind !== 'string') {
    throw new zapier.errors.Error(
      `${baseOf(bundle)} answered, but not as Millrace answers. Check the base URL.`,
      'unexpected-answer',
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
      helpText: 'The address of your Millrace, as in https://api.example.org (without /api).',
    },
    {
      key: 'apiKey',
      label: 'API Key',
      type: 'password',
      required: true,
      helpText:
        'Made in the dashboard of Millrace under Keys. Its roles need policies for the collections that it shall reach, and one for **webhooks** if it shall have triggers.',
    },
  ],
};
