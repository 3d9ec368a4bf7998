/**
 * The notice for an operator that the database refuses to be recorded: a document of `_activity`, which becomes an
 * event as soon as recording works again. The server's message stays in the log of the program, because it holds the
 * command.
 */
import type { Db, Document } from 'mongodb';
import { serverCode } from '../../database/errors.ts';
import { newId } from '../../database/json/ids.ts';

/** Stores the notice, if the database allows it. Throws the driver's errors. */
export async function tellRefusal(data: Db, recorder: string, error: unknown): Promise<void> {
  const now = new Date();
  const code = serverCode(error);
  await data.collection<Document & { _id: string }>('_activity').insertOne({
    _id: newId().toHexString(),
    type: 'system.log.refused',
    details: { recorder, code: code === undefined ? null : String(code) },
    _meta: { revision: 1, createdAt: now, updatedAt: now, createdBy: null, updatedBy: null },
  });
}
