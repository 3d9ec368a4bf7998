/**
 * Parses the principal that an administrator impersonates: `user:<id>`, `role:<name>`, `key:<id>` or `anonymous`. Pure.
 */
import { ROLE_NAME } from './role-names.ts';

export interface ImpersonationTarget {
  readonly kind: 'user' | 'role' | 'key' | 'anonymous';
  /** Id of the user or key, name of the role; empty for anonymous. */
  readonly id: string;
}

const ID = '[!-~]{1,128}';

/** All texts that name a principal. */
export const TARGET = new RegExp(`^(?:anonymous|(user|key):(${ID})|role:(${ROLE_NAME}))$`);

/** The syntax of a principal, for messages. */
export const TARGET_FORMS = 'user:<id>, role:<name>, key:<id> or anonymous';

/** Null for a text that names no principal. */
export function parseImpersonationTarget(text: string): ImpersonationTarget | null {
  const found = TARGET.exec(text);
  if (found === null) return null;
  const [, kind, id = '', role] = found;
  if (role !== undefined) return { kind: 'role', id: role };
  return kind === 'user' || kind === 'key' ? { kind, id } : { kind: 'anonymous', id: '' };
}

/** The text that `parseWhom` reads. */
export function targetText({ kind, id }: ImpersonationTarget): string {
  return kind === 'anonymous' ? kind : `${kind}:${id}`;
}
