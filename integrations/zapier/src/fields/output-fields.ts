/** What Zapier is told about results: names and types of the members of the chosen collection. Not here: forms (input-fields.ts). */
import type { Bundle, OutputFields, ZObject } from 'zapier-platform-core';
import { labelOf, type Member } from './members.ts';
import { chosenMembers } from './schema.ts';

/** Fields of a result at most. */
const MAX_FIELDS = 200;

/** Fields of a document. @param under the member of the result that holds the document; none if the result is the document */
export function documentFields(...under: readonly string[]) {
  return async (z: ZObject, bundle: Bundle): Promise<OutputFields> =>
    (await chosenMembers(z, bundle)).slice(0, MAX_FIELDS).map((member) => toField(member, under));
}

function toField({ path, kind, isList }: Member, under: readonly string[]): OutputFields[number] {
  return {
    key: [...under, ...path].join('__'),
    label: labelOf(path),
    ...(kind === 'json' || isList ? {} : { type: kind }),
  };
}
