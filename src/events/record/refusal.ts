/**
 * What an operator is told when the database refuses to be recorded: a document of `_activity`, which is an event as
 * soon as somebody may record again. The server's own words stay in the log of the program: they hold its command.
 */
import type { Db, Document } from 'mongodb';
import { serverCode } from '../../database/errors.ts';
import { newId } from '../../database/json/ids.ts';

/** Writes it down, if the database lets us. Throws what the driver throws. */
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
