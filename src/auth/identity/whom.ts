/**
 * Names a principal whose answer an owner wants to see: `user:<id>`, `role:<name>`, `key:<id>` or `anonymous`. Pure. Not
 * here: who may ask so, and what is answered (policies/standing/looking-as.ts).
 */
import { ROLE_NAME } from './role-names.ts';

export interface Whom {
  readonly kind: 'user' | 'role' | 'key' | 'anonymous';
  /** Id of the account or key, name of the role; empty for anonymous. */
  readonly id: string;
}

const ID = '[!-~]{1,128}';

/** All texts that name a principal. */
export const WHOM = new RegExp(`^(?:anonymous|(user|key):(${ID})|role:(${ROLE_NAME}))$`);

/** What a text must be that names a principal, for messages. */
export const WHOM_FORMS = 'user:<id>, role:<name>, key:<id> or anonymous';

/** Null for a text that names no principal. */
export function parseWhom(text: string): Whom | null {
  const found = WHOM.exec(text);
  if (found === null) return null;
  const [, kind, id = '', role] = found;
  if (role !== undefined) return { kind: 'role', id: role };
  return kind === 'user' || kind === 'key' ? { kind, id } : { kind: 'anonymous', id: '' };
}

/** The text that `parseWhom` reads. */
export function whomText({ kind, id }: Whom): string {
  return kind === 'anonymous' ? kind : `${kind}:${id}`;
}
