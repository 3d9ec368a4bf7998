/**
 * A writer that implements MongoDB's wire protocol and sends documents as given bytes, so that tests can store
 * documents that old or careless drivers have left in databases and that today's driver refuses to write. One insert
 * for each connection.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Binary, BSON, type Document } from 'mongodb';
import { cstring, int32 } from './bson-parts.ts';

/** OP_MSG, the only message of the protocol since MongoDB 3.6. */
const MESSAGE = 2013;
const HEADER_BYTES = 16;
const FLAG_BYTES = 4;

/**
 * Inserts documents given as BSON bytes, signed in as the user of the connection string if it names one.
 * @throws Error when the server does not accept them all
 */
export async function insertBytes(url: string, namespace: string, documents: readonly Buffer[]): Promise<void> {
  const { hostname, port, username, password } = new URL(url.replace(/^mongodb:/, 'http:'));
  const socket = connect(Number(port), hostname);
  try {
    if (username !== '') await signIn(socket, decodeURIComponent(username), decodeURIComponent(password));
    const [database = '', collection = ''] = namespace.split('.');
    const inside = Buffer.concat([cstring(Buffer.from('documents')), ...documents]);
    const command = { insert: collection, $db: database, writeConcern: { w: 'majority' } };
    const reply = await send(socket, command, [Buffer.of(1), int32(inside.length + 4), inside]);
    if (reply['n'] !== documents.length) throw new Error(`The server refused: ${JSON.stringify(reply)}`);
  } finally {
    socket.destroy();
  }
}

/** Signs in by SCRAM-SHA-256 (RFC 5802, RFC 7677). */
async function signIn(socket: Socket, user: string, password: string): Promise<void> {
  const first = `n=${user},r=${randomBytes(18).toString('base64')}`;
  const start = { saslStart: 1, mechanism: 'SCRAM-SHA-256', payload: new Binary(Buffer.from(`n,,${first}`)) };
  const challenge = await send(socket, { ...start, options: { skipEmptyExchange: true }, $db: 'admin' });
  const reported = textOf(challenge['payload']);
  const [, nonce = '', salt = '', rounds = ''] = /^r=([^,]*),s=([^,]*),i=(\d+)/.exec(reported) ?? [];
  const salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(rounds), 32, 'sha256');
  const key = createHmac('sha256', salted).update('Client Key').digest();
  const last = `c=biws,r=${nonce}`;
  const stored = createHash('sha256').update(key).digest();
  const signature = createHmac('sha256', stored).update(`${first},${reported},${last}`).digest();
  const proof = Buffer.from(key.map((byte, at) => byte ^ (signature[at] ?? 0))).toString('base64');
  const payload = new Binary(Buffer.from(`${last},p=${proof}`));
  const done = await send(socket, {
    saslContinue: 1,
    conversationId: challenge['conversationId'],
    payload,
    $db: 'admin',
  });
  if (done['done'] !== true) throw new Error(`The server refused: ${JSON.stringify(done)}`);
}

/** @param more sections after the command, as bytes */
async function send(socket: Socket, command: Document, more: readonly Buffer[] = []): Promise<Document> {
  const sections = [Buffer.of(0), BSON.serialize(command), ...more];
  const message = Buffer.concat([int32(1), int32(0), int32(MESSAGE), int32(0), ...sections]);
  socket.write(Buffer.concat([int32(message.length + 4), message]));
  let response = Buffer.alloc(0);
  while (response.length < HEADER_BYTES || response.length < response.readInt32LE(0)) {
    const [chunk]: Buffer[] = await once(socket, 'data');
    response = Buffer.concat([response, chunk ?? Buffer.alloc(0)]);
  }
  return BSON.deserialize(response.subarray(HEADER_BYTES + FLAG_BYTES + 1));
}

function textOf(payload: unknown): string {
  return payload instanceof Binary ? Buffer.from(payload.value()).toString() : '';
}
