/**
 * A writer that speaks MongoDB's wire protocol itself and sends documents as the bytes they are: what old or careless
 * drivers left in databases can be put there, which the driver of today refuses to write. One insert a connection.
 */
import { connect } from 'node:net';
import { BSON } from 'mongodb';
import { cstring, int32 } from './bson-parts.ts';

/** OP_MSG, the one message of the protocol since MongoDB 3.6. */
const MESSAGE = 2013;
const HEADER_BYTES = 16;
const FLAG_BYTES = 4;

/** Inserts documents given as BSON bytes; throws when the server does not take them all. */
export async function insertBytes(url: string, place: string, documents: readonly Buffer[]): Promise<void> {
  const [database = '', collection = ''] = place.split('.');
  const body = BSON.serialize({ insert: collection, $db: database, writeConcern: { w: 'majority' } });
  const inside = Buffer.concat([cstring(Buffer.from('documents')), ...documents]);
  const sections = [Buffer.of(0), body, Buffer.of(1), int32(inside.length + 4), inside];
  const message = Buffer.concat([int32(1), int32(0), int32(MESSAGE), int32(0), ...sections]);
  const answer = await exchange(url, Buffer.concat([int32(message.length + 4), message]));
  const reply = BSON.deserialize(answer.subarray(HEADER_BYTES + FLAG_BYTES + 1));
  if (reply['n'] !== documents.length) throw new Error(`The server refused: ${JSON.stringify(reply)}`);
}

function exchange(url: string, request: Buffer): Promise<Buffer> {
  const { hostname, port } = new URL(url.replace(/^mongodb:/, 'http:'));
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(request));
    let answer = Buffer.alloc(0);
    socket.once('error', reject);
    socket.on('data', (chunk) => {
      answer = Buffer.concat([answer, chunk]);
      if (answer.length < HEADER_BYTES || answer.length < answer.readInt32LE(0)) return;
      socket.destroy();
      resolve(answer);
    });
  });
}
