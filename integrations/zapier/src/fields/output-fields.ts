/** Output fields for Zapier: names and types of the fields of the chosen collection. */
import type { Bundle, OutputFields, ZObject } from 'zapier-platform-core';
import { type Field, labelOf } from './fields.ts';
import { chosenFields } from './schema.ts';

/** Maximum number of fields of a result. */
const MAX_FIELDS = 200;

/**
 * Fields of a document.
 * @param under the field of the result that contains the document; none if the result is the document
 */
export function documentFields(...under: readonly string[]) {
  return async (z: ZObject, bundle: Bundle): Promise<OutputFields> =>
    (await chosenFields(z, bundle)).slice(0, MAX_FIELDS).map((field) => toField(field, under));
}

function toField({ path, kind, isList }: Field, under: readonly string[]): OutputFields[number] {
  return {
    key: [...under, ...path].join('__'),
    label: labelOf(path),
    ...(kind === 'json' || isList ? {} : { type: kind }),
  };
}
