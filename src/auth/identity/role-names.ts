/** Valid names for roles of users and keys, as a schema. */
import Type from 'typebox';

/** Source of a pattern. */
export const ROLE_NAME_PATTERN = '[A-Za-z][A-Za-z0-9_-]{0,63}';

const ROLE = Type.String({ minLength: 1, maxLength: 64, pattern: `^${ROLE_NAME_PATTERN}$` });

export const ROLES_SCHEMA = Type.Array(ROLE, { maxItems: 32, uniqueItems: true });
