/** Requests the schema of a collection's documents from Millrace. */
import type { Bundle, ZObject } from 'zapier-platform-core';
import { call } from '../api/requests.ts';
import { type Field, fieldsOf } from './fields.ts';

/**
 * The fields of the chosen collection's documents; none if no collection is chosen, it has no document yet, or the key can write
 * but not read it.
 */
export async function chosenFields(z: ZObject, { inputData }: Bundle): Promise<readonly Field[]> {
  const collection = inputData['collection'];
  if (typeof collection !== 'string' || collection === '') return [];
  const { status, data } = await call(z, ['api', collection, '_schema'], { tolerated: [403, 404] });
  return status === 200 ? fieldsOf(data) : [];
}
