/**
 * A process with a direct sender, to be killed and frozen. Arguments: URL and name of the database, the endpoint as
 * JSON, the limits as JSON. Each line of its input is the number of an event to deliver; after each line it prints one.
 */
import { createInterface } from 'node:readline';
import { connectMongo } from '../../../src/database/mongo.ts';
import { Egress } from '../../../src/egress/egress.ts';
import { DirectSender } from '../../../src/webhooks/sending/direct/direct-sender.ts';
import { newDelivery } from './endpoints.ts';

const [url = '', database = '', endpoint = '', limits = ''] = process.argv.slice(2);
const mongo = await connectMongo({ url, database });
const egress = new Egress({ mode: 'development', allow: [] });
const events = { onDisable: async () => undefined, onFailed: async () => undefined };
const sender = new DirectSender({ mongo, egress, events, version: 'test', limits: JSON.parse(limits) });
await sender.start();
const target = JSON.parse(endpoint);
await sender.ensureEndpoint(target);
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const numbers = line.split(' ').map(Number);
  await sender.submit(numbers.map((number) => newDelivery(target.id, number)));
  console.log('submitted');
}
