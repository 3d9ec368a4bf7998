/**
 * Parses the JSON requests of `/admin/policies/test` and `/admin/policies/check` into the principals and documents of a
 * real request. Pure.
 */
import type { Document } from 'mongodb';
import Type, { type Static } from 'typebox';
import { Check, Errors } from 'typebox/schema';
import { ADMIN_ROLES, ANONYMOUS, type Principal } from '../../auth/identity/principal.ts';
import { idFromText } from '../../database/json/ids.ts';
import { isCollectionName } from '../../database/parse-collection-name.ts';
import { MillraceError } from '../../lib/errors.ts';
import { POLICY_ACTIONS } from '../scope.ts';
import type { SimulatedRequest } from './simulate-request.ts';

const NAMES = Type.Array(Type.String({ maxLength: 256 }), { maxItems: 200 });
const DOCUMENT = Type.Object({}, { additionalProperties: true });

/** The principal of a simulation. */
export const SIMULATION_PRINCIPAL = Type.Object(
  {
    kind: Type.Enum(['anonymous', 'user', 'key', 'admin', 'function']),
    id: Type.Optional(Type.String({ maxLength: 256 })),
    roles: Type.Optional(NAMES),
    claims: Type.Optional(Type.Object({}, { additionalProperties: true })),
    resources: Type.Optional(NAMES),
    actions: Type.Optional(NAMES),
  },
  { additionalProperties: false },
);

const FIELDS = {
  principal: SIMULATION_PRINCIPAL,
  action: Type.Enum(POLICY_ACTIONS),
  resource: Type.String({ minLength: 1, maxLength: 64 }),
  document: Type.Optional(DOCUMENT),
  before: Type.Optional(DOCUMENT),
};

export const SIMULATION_BODY = Type.Object(FIELDS, { additionalProperties: false });

const CASE = Type.Object(
  { ...FIELDS, expect: Type.Enum(['allow', 'deny']), name: Type.Optional(Type.String({ maxLength: 200 })) },
  { additionalProperties: false },
);

export const POLICY_CHECK_BODY = Type.Object(
  { cases: Type.Array(CASE, { minItems: 1, maxItems: 1_000 }) },
  { additionalProperties: false },
);

export interface PolicyTestCase {
  readonly query: SimulatedRequest;
  readonly expect: 'allow' | 'deny';
  readonly name: string | undefined;
}

/** @throws MillraceError `invalid-body-type`, naming the place */
export function parseSimulationBody(body: unknown): SimulatedRequest {
  if (!Check(SIMULATION_BODY, body)) throw misshapen(Errors(SIMULATION_BODY, body)[1]);
  return toQuery(body);
}

/** @throws MillraceError `invalid-body-type`, naming the place */
export function parsePolicyCheck(body: unknown): readonly PolicyTestCase[] {
  if (!Check(POLICY_CHECK_BODY, body)) throw misshapen(Errors(POLICY_CHECK_BODY, body)[1]);
  return body.cases.map(({ expect, name, ...query }) => ({ query: toQuery(query), expect, name }));
}

function toQuery(json: Static<typeof SIMULATION_BODY>): SimulatedRequest {
  const { principal, action, resource, document, before } = json;
  if (!isCollectionName(resource) && resource !== '_files' && resource !== '_functions' && resource !== '_webhooks') {
    throw new MillraceError(
      'invalid-collection-name',
      `'${resource}' is not the name of a collection, nor _files, _functions or _webhooks`,
    );
  }
  return {
    principal: toTestPrincipal(principal),
    action: action === 'subscribe' ? 'read' : action,
    resource: resource,
    document: document === undefined ? null : toDocument(document),
    before: before === undefined ? null : toDocument(before),
  };
}

/** The principal, as if it had just authenticated. */
export function toTestPrincipal({
  kind,
  id = '',
  roles = [],
  ...rest
}: Static<typeof SIMULATION_PRINCIPAL>): Principal {
  const expiresAt = Number.MAX_SAFE_INTEGER;
  switch (kind) {
    case 'anonymous':
      return ANONYMOUS;
    case 'user':
      return { kind, id, roles, claims: Object.fromEntries(Object.entries(rest.claims ?? {})), session: '', expiresAt };
    case 'key':
      return { kind, id, roles, resources: rest.resources ?? null, actions: rest.actions ?? null, expiresAt };
    case 'admin':
      return { kind, id, roles: ADMIN_ROLES.filter((role) => roles.includes(role)), session: '', expiresAt };
    case 'function':
      return { kind, id, roles };
    default:
      return kind satisfies never;
  }
}

/** The document as it would be stored. */
function toDocument(json: object): Document {
  const { id, ...fields }: Readonly<Record<string, unknown>> = { ...json };
  return typeof id === 'string' ? { _id: idFromText(id), ...fields } : fields;
}

function misshapen(found: readonly { readonly instancePath: string; readonly message: string }[]): MillraceError {
  const [first] = found;
  return new MillraceError(
    'invalid-body-type',
    `The question is not understood: ${first?.message ?? 'it is malformed'}`,
    {
      issues: found.map(({ instancePath, message }) => ({
        pointer: instancePath,
        code: 'invalid-body-type',
        detail: message,
      })),
    },
  );
}
