/**
 * Parses the principal that an administrator impersonates: `user:<id>`, `role:<name>`, `key:<id>` or `anonymous`. Pure.
 */
import { ROLE_NAME_PATTERN } from './role-names.ts';

export interface ImpersonationTarget {
  readonly kind: 'user' | 'role' | 'key' | 'anonymous';
  /** Id of the user or key, name of the role; empty for anonymous. */
  readonly id: string;
}

const ID = '[!-~]{1,128}';

/** All texts that name a principal. */
export const IMPERSONATION_TARGET_PATTERN = new RegExp(
  `^(?:anonymous|(user|key):(${ID})|role:(${ROLE_NAME_PATTERN}))$`,
);

/** The syntax of a principal, for messages. */
export const IMPERSONATION_TARGET_SYNTAX = 'user:<id>, role:<name>, key:<id> or anonymous';

/** Null for a text that names no principal. */
export function parseImpersonationTarget(text: string): ImpersonationTarget | null {
  const found = IMPERSONATION_TARGET_PATTERN.exec(text);
  if (found === null) return null;
  const [, kind, id = '', role] = found;
  if (role !== undefined) return { kind: 'role', id: role };
  return kind === 'user' || kind === 'key' ? { kind, id } : { kind: 'anonymous', id: '' };
}

/** The text that `parseImpersonationTarget` reads. */
export function formatImpersonationTarget({ kind, id }: ImpersonationTarget): string {
  return kind === 'anonymous' ? kind : `${kind}:${id}`;
}
