/**
 * The JSON schema of a policy as an administrator writes it. policy.ts and policy-set.ts check rules that a schema
 * cannot express.
 */
import Type, { type Static } from 'typebox';
import { POLICY_ACTIONS } from './scope.ts';

const names = (description: string, pattern?: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 256, ...(pattern === undefined ? {} : { pattern }) }), {
    minItems: 1,
    maxItems: 200,
    description,
  });

const rules = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 1_025 }), { maxItems: 200, description });

/** The principals that a policy applies to; one match is enough. */
const PRINCIPALS = Type.Object(
  {
    anonymous: Type.Optional(Type.Literal(true, { description: 'Clients without a credential.' })),
    authenticated: Type.Optional(Type.Literal(true, { description: 'Every user and every API key.' })),
    roles: Type.Optional(names('Users and keys with one of these roles.')),
    users: Type.Optional(names('These users, by id.')),
    keys: Type.Optional(names('These API keys, by id.')),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    description: 'One match is enough; without it the policy applies to everyone.',
  },
);

export const POLICY_SCHEMA = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The name, for people. No two policies have the same.',
    }),
    resources: names('Names of collections, `*` for all of them, `_files`, `_functions`, `_webhooks`.'),
    actions: Type.Array(Type.Enum(POLICY_ACTIONS), {
      minItems: 1,
      maxItems: POLICY_ACTIONS.length,
      description: 'What clients do. `subscribe` is `read`; `get` is reading one file by its id without listing files.',
    }),
    principals: Type.Optional(PRINCIPALS),
    effect: Type.Enum(['allow', 'deny'], {
      description: 'Documents that a deny matches are out of reach, whatever other policies allow.',
    }),
    filter: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'Which documents: a filter with variables.' }),
    ),
    fields: Type.Optional(
      Type.Object(
        {
          read: Type.Optional(rules('Visible fields: `["*","-secret"]`, or names.')),
          write: Type.Optional(rules('Fields that may be set.')),
        },
        { additionalProperties: false },
      ),
    ),
    set: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'Fields whose value the policy sets.' }),
    ),
    mode: Type.Optional(Type.Enum(['development', 'production'], { description: 'Applies in this mode only.' })),
  },
  { additionalProperties: false },
);

/** A policy as it is written, sent and stored. */
export type PolicyJson = Static<typeof POLICY_SCHEMA>;
