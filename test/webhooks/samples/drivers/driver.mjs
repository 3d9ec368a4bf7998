/**
 * Verifies deliveries by the sample of docs/webhooks.md: reads one per line of standard input, and prints a line `true`
 * or `false` for it. The other programs of this folder do the same in their languages. Line format: ../vectors.ts.
 */
import { createInterface } from 'node:readline';
import { isGenuine } from './webhook.mjs';

for await (const line of createInterface({ input: process.stdin })) {
  const [secrets, id, timestamp, signatures, body] = line.split('\t').map((field) => Buffer.from(field, 'base64'));
  console.log(isGenuine(String(secrets).split(','), String(id), String(timestamp), String(signatures), body));
}
