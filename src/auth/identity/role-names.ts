/** The names that roles of accounts and keys can have, as a schema. Not here: what a role may do (policies/). */
import Type from 'typebox';

const ROLE = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9_-]*$' });

export const ROLES = Type.Array(ROLE, { maxItems: 32, uniqueItems: true });
