/**
 * `POST /admin/policies/preview`: what a policy would change, before it is saved. It requires the right to save,
 * because the response describes documents and principals of all.
 */

import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { ServerMode } from '../../config/config.ts';
import { isCollectionName } from '../../database/parse-collection-name.ts';
import type { LogTail } from '../../events/log/log-tail.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { requireMediaType } from '../../lib/request.ts';
import { declareOperation, jsonBody, jsonResponse, VALIDATION_ERRORS } from '../../openapi/operation.ts';
import { arraySchema, nullable } from '../../openapi/schema.ts';
import { createAdminScopeGuard } from '../admin-scope-guard.ts';
import { Policies } from '../policies.ts';
import type { PolicyRegistry } from '../policy-registry.ts';
import { POLICY_SCHEMA } from '../policy-schema.ts';
import type { PolicySet } from '../policy-set.ts';
import { policyWarnings } from '../warnings.ts';
import { newestEvents } from './newest-events.ts';
import { computePolicyEventImpact, computePolicySubscriptionImpact, type OpenSubscription } from './preview-effect.ts';
import { collectPreviewPrincipals, formatPrincipal } from './preview-principals.ts';

/** A policy that may be saved, or null for one that may be removed. Its own errors are those of saving it. */
const POLICY_PREVIEW_BODY = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 64, description: 'The id under which it would be saved.' }),
    policy: nullable(Type.Object({}, { additionalProperties: true })),
  },
  { additionalProperties: false },
);

const COUNT = { type: 'integer', minimum: 0 };
const TEXTS = arraySchema({ type: 'string' });
const COMPLETE = { type: 'boolean', description: 'False if the time did not suffice for everything.' };
const EXAMPLE = Type.Object({
  event: Type.String({ description: 'Id of the event.' }),
  type: Type.String(),
  collection: nullable(Type.String()),
  documentId: nullable(Type.String()),
  principal: Type.String({ description: 'In the form of `Millrace-As`.' }),
  fields: Type.Optional(Type.Array(Type.String(), { description: 'Fields that would be shown or hidden.' })),
});
const changes = (description: string) => ({
  type: 'object',
  description,
  required: ['count', 'examples'],
  properties: { count: COUNT, examples: arraySchema(EXAMPLE) },
});
const examined = (what: object) => ({
  type: 'object',
  required: ['examined', 'complete'],
  properties: { examined: what, complete: COMPLETE },
});

const POLICY_PREVIEW_OPERATION = declareOperation({
  id: 'previewPolicies',
  tag: 'admin',
  summary: 'Preview the effect of a policy before it is saved',
  description:
    'For each of up to 50 principals: which of the newest 1,000 events it would gain or lose, and which open ' +
    'subscriptions would be affected. Nothing is stored.',
  body: jsonBody({
    ...POLICY_PREVIEW_BODY,
    properties: { ...POLICY_PREVIEW_BODY.properties, policy: { anyOf: [POLICY_SCHEMA, { type: 'null' }] } },
  }),
  responses: jsonResponse('What would change.', {
    type: 'object',
    required: ['events', 'principals', 'visible', 'hidden', 'changed', 'subscriptions'],
    properties: {
      warnings: TEXTS,
      events: examined(COUNT),
      principals: examined(TEXTS),
      visible: changes('Events that a principal would see.'),
      hidden: changes('Events that a principal would no longer see.'),
      changed: changes('Events that a principal would see with other fields.'),
      subscriptions: {
        type: 'object',
        description: 'Open subscriptions of the process that responds.',
        required: ['open', 'affected', 'by'],
        properties: {
          open: COUNT,
          affected: COUNT,
          by: arraySchema({
            type: 'object',
            required: ['principal', 'collection', 'count'],
            properties: { principal: { type: 'string' }, collection: { type: ['string', 'null'] }, count: COUNT },
          }),
        },
      },
    },
  }),
  errors: [...VALIDATION_ERRORS, 'invalid-policy', 'too-many-policies', 'policy-not-found'],
});

/** Time limit of the events, in milliseconds, and of the reading of users within it. */
const MAX_MS = 3_000;
const ACCOUNTS_MS = 1_000;

export interface PolicyPreviewRoutesOptions {
  readonly policies: Policies;
  readonly policyRegistry: PolicyRegistry;
  readonly mode: ServerMode;
  readonly authenticator: Pick<Authenticator, 'principalFor'>;
  readonly tail: LogTail;
  /** The subscriptions that are open in this process. */
  readonly subscriptions: () => Iterable<OpenSubscription>;
}

export async function policyPreviewRoutes(app: FastifyInstance, options: PolicyPreviewRoutesOptions): Promise<void> {
  const { policies, policyRegistry, mode, authenticator, tail, subscriptions } = options;
  const enter = createAdminScopeGuard(policies, '_admin');

  app.post('/admin/policies/preview', { config: POLICY_PREVIEW_OPERATION }, async (request) => {
    const scope = enter(request, 'update');
    requireMediaType(request, ['application/json']);
    const { id, policy } = readDraft(request.body);
    const { now, next } = await policyRegistry.draft(scope, id, policy);
    const warnings = policy === null ? [] : policyWarnings({ id, policy });
    const at = new Date();
    const sides = { now: activeNow(now, mode, at), next: activeNow(next, mode, at) };
    const begun = performance.now();
    const newest = await newestEvents(tail, begun + MAX_MS);
    const open = [...subscriptions()];
    const sources = {
      drafted: [now, next].flatMap((set) => set.policies.filter((one) => one.id === id)),
      others: next.policies.filter((one) => one.id !== id),
      subscribers: new Set(open.map(({ principal }) => principal)),
      actors: newest.rows.flatMap(({ by }) => by ?? []),
    };
    const inPlay = await collectPreviewPrincipals(sources, authenticator, begun + ACCOUNTS_MS);
    const effect = await computePolicyEventImpact(sides, newest.rows, inPlay.principals, begun + MAX_MS);
    const { examined, ...changes } = effect;
    const named = [...new Set([...now.named, ...next.named])].filter(isCollectionName);
    return {
      ...(warnings.length === 0 ? {} : { warnings }),
      events: { examined, complete: newest.complete && examined === newest.rows.length },
      principals: { examined: inPlay.principals.map(formatPrincipal), complete: inPlay.complete },
      ...changes,
      subscriptions: await computePolicySubscriptionImpact(sides, open, named),
    };
  });
}

/** @throws MillraceError `invalid-body` */
function readDraft(body: unknown): { readonly id: string; readonly policy: object | null } {
  const { id, policy } = validateBody(POLICY_PREVIEW_BODY, body);
  if (policy === null) return { id, policy };
  // As in saving: a policy may contain its id.
  const { id: _, ...rest }: Readonly<Record<string, unknown>> = { id, ...policy };
  return { id, policy: rest };
}

/** The policies of a set as if they were active, at one point in time. */
function activeNow(set: PolicySet, mode: ServerMode, at: Date): Policies {
  const created = new Policies(mode, () => at);
  created.use(set);
  return created;
}
