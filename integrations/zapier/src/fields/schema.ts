/** Asks Millrace what the documents of a collection look like. Not here: what becomes of it (members.ts). */
import type { Bundle, ZObject } from 'zapier-platform-core';
import { call } from '../api/requests.ts';
import { type Member, membersOf } from './members.ts';

/**
 * The members of the documents of the collection that was chosen; none while no collection is chosen, it has no document yet,
 * or the key may write but not read it.
 */
export async function chosenMembers(z: ZObject, { inputData }: Bundle): Promise<readonly Member[]> {
  const collection = inputData['collection'];
  if (typeof collection !== 'string' || collection === '') return [];
  const { status, data } = await call(z, ['collections', collection, 'schema'], { tolerated: [403, 404] });
  return status === 200 ? membersOf(data) : [];
}
