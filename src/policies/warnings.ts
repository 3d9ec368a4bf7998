/**
 * What is probably not meant in a policy that is valid: told when it is saved. Pure. Not here: what is refused
 * (policy.ts, policy-set.ts).
 */
import { wirePath } from '../database/names.ts';
import { missingDollars } from '../query/parse/missing-dollar.ts';
import { parsePolicy } from './policy.ts';
import type { WrittenPolicy } from './policy-set.ts';

/** Sentences about the filter of a policy. @throws MillraceError `invalid-policy` */
export function warningsOf({ id, policy }: WrittenPolicy): readonly string[] {
  return missingDollars(parsePolicy(id, policy).where, wirePath);
}
