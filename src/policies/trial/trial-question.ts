/**
 * Questions to the policies as JSON, for `/admin/policies/test` and `/admin/policies/check`: read, and turned into the
 * principals and documents of a real request. Pure. Not here: the answers (verdict.ts).
 */
import type { Document } from 'mongodb';
import Type, { type Static } from 'typebox';
import { Check, Errors } from 'typebox/schema';
import { ANONYMOUS, OWNER_ROLES, type Principal } from '../../auth/identity/principal.ts';
import { idFromText } from '../../database/json/ids.ts';
import { isCollectionName } from '../../database/names.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { POLICY_ACTIONS } from '../scope.ts';
import type { TrialQuestion } from './verdict.ts';

const NAMES = Type.Array(Type.String({ maxLength: 256 }), { maxItems: 200 });
const DOCUMENT = Type.Object({}, { additionalProperties: true });

/** How a principal is named to try something as it. */
export const TRIAL_PRINCIPAL = Type.Object(
  {
    kind: Type.Enum(['anonymous', 'user', 'key', 'owner', 'function']),
    id: Type.Optional(Type.String({ maxLength: 256 })),
    roles: Type.Optional(NAMES),
    claims: Type.Optional(Type.Object({}, { additionalProperties: true })),
    collections: Type.Optional(NAMES),
    actions: Type.Optional(NAMES),
  },
  { additionalProperties: false },
);

const MEMBERS = {
  principal: TRIAL_PRINCIPAL,
  action: Type.Enum(POLICY_ACTIONS),
  collection: Type.String({ minLength: 1, maxLength: 64 }),
  document: Type.Optional(DOCUMENT),
  before: Type.Optional(DOCUMENT),
};

export const QUESTION = Type.Object(MEMBERS, { additionalProperties: false });

const CASE = Type.Object(
  { ...MEMBERS, expect: Type.Enum(['allow', 'deny']), name: Type.Optional(Type.String({ maxLength: 200 })) },
  { additionalProperties: false },
);

export const CHECK = Type.Object(
  { cases: Type.Array(CASE, { minItems: 1, maxItems: 1_000 }) },
  { additionalProperties: false },
);

export interface Case {
  readonly question: TrialQuestion;
  readonly expect: 'allow' | 'deny';
  readonly name: string | undefined;
}

/** @throws MillraceError `body-type`, naming the place */
export function parseQuestion(body: unknown): TrialQuestion {
  if (!Check(QUESTION, body)) throw misshapen(Errors(QUESTION, body)[1]);
  return toQuestion(body);
}

/** @throws MillraceError `body-type`, naming the place */
export function parseCheck(body: unknown): readonly Case[] {
  if (!Check(CHECK, body)) throw misshapen(Errors(CHECK, body)[1]);
  return body.cases.map(({ expect, name, ...question }) => ({ question: toQuestion(question), expect, name }));
}

function toQuestion(json: Static<typeof QUESTION>): TrialQuestion {
  const { principal, action, collection, document, before } = json;
  if (
    !isCollectionName(collection) &&
    collection !== 'files' &&
    collection !== 'functions' &&
    collection !== 'webhooks'
  ) {
    throw new MillraceError(
      'invalid-name',
      `'${collection}' is not the name of a collection, nor files, functions or webhooks`,
    );
  }
  return {
    principal: toTrialPrincipal(principal),
    action: action === 'subscribe' ? 'read' : action,
    place: collection,
    document: document === undefined ? null : toDocument(document),
    before: before === undefined ? null : toDocument(before),
  };
}

/** The principal, as if it had just proved who it is. */
export function toTrialPrincipal({ kind, id = '', roles = [], ...rest }: Static<typeof TRIAL_PRINCIPAL>): Principal {
  const expiresAt = Number.MAX_SAFE_INTEGER;
  switch (kind) {
    case 'anonymous':
      return ANONYMOUS;
    case 'user':
      return { kind, id, roles, claims: Object.fromEntries(Object.entries(rest.claims ?? {})), session: '', expiresAt };
    case 'key':
      return { kind, id, roles, collections: rest.collections ?? null, actions: rest.actions ?? null, expiresAt };
    case 'owner':
      return { kind, id, roles: OWNER_ROLES.filter((role) => roles.includes(role)), session: '', expiresAt };
    case 'function':
      return { kind, id, roles };
    default:
      return kind satisfies never;
  }
}

/** The document as it would be stored. */
function toDocument(json: object): Document {
  const { id, ...members }: Readonly<Record<string, unknown>> = { ...json };
  return typeof id === 'string' ? { _id: idFromText(id), ...members } : members;
}

function misshapen(found: readonly { readonly instancePath: string; readonly message: string }[]): MillraceError {
  const [first] = found;
  return new MillraceError('body-type', `The question is not understood: ${first?.message ?? 'it is malformed'}`, {
    faults: found.map(({ instancePath, message }) => ({ pointer: instancePath, code: 'body-type', detail: message })),
  });
}
