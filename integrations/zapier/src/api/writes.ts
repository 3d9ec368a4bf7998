/**
 * Idempotent writes: each carries an Idempotency-Key, so it can be repeated if its response was lost. Uploads do not support such
 * keys.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Bundle, HttpResponse, ZObject } from 'zapier-platform-core';
import { type Call, call } from './requests.ts';

/** The error of a broken connection in Zapier's client, which is node-fetch. */
const BROKEN = 'FetchError';

export const IDEMPOTENCY_FIELD = {
  key: 'idempotencyKey',
  label: 'Idempotency Key',
  type: 'string',
  required: false,
  helpText:
    'A value that identifies this write, such as the ID of the event that triggered it. If the step runs again with the same value within 24 hours, nothing is written a second time.',
} as const;

/**
 * Writes, and repeats the write with the same key if the connection broke before the response.
 * @param path segments of the path
 */
export async function write(z: ZObject, bundle: Bundle, path: readonly string[], options: Call): Promise<HttpResponse> {
  const given = bundle.inputData['idempotencyKey'];
  const key = given === undefined || given === '' ? randomUUID() : keyOf(String(given));
  const send = () => call(z, path, { ...options, headers: { ...options.headers, 'idempotency-key': key } });
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof Error) || error.name !== BROKEN) throw error;
    return send();
  }
}

/** Any text as an idempotency key, which has at most 255 visible ASCII characters. */
function keyOf(text: string): string {
  return `zapier-${createHash('sha256').update(text).digest('hex')}`;
}
