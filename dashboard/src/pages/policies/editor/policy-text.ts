/** A policy as editable text. */
import type { Policy } from '../parts/policies.ts';

/** The initial text of a new policy. */
export const NEW_POLICY: Policy = { name: '', resources: [], actions: ['read'], effect: 'allow' };

export function textOf(policy: Policy): string {
  return JSON.stringify(policy, null, 2);
}

/** True if the form can show it; the server finds all other errors. */
export function isPolicy(value: unknown): value is Policy {
  if (typeof value !== 'object' || value === null) return false;
  const { name, resources, actions, effect, principals, fields }: Readonly<Record<string, unknown>> = { ...value };
  return (
    typeof name === 'string' &&
    isTexts(resources) &&
    isTexts(actions) &&
    (effect === 'allow' || effect === 'deny') &&
    isObjectOrNone(principals) &&
    isObjectOrNone(fields) &&
    [...Object.values(fields ?? {}), ...Object.values(principals ?? {})].every((one) => one === true || isTexts(one))
  );
}

/** The id that the server derives from a name. */
export function idOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  return words === null ? 'policy' : words.join('-').slice(0, 64).replace(/-$/, '');
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isObjectOrNone(value: unknown): value is object | undefined {
  return value === undefined || (typeof value === 'object' && value !== null && !Array.isArray(value));
}
