/**
 * `POST /admin/policies/preview`: what a policy would change, before it is saved. It requires the right to save,
 * because the response describes documents and principals of all.
 */
import type { FastifyInstance } from 'fastify';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { ServerMode } from '../../config/config.ts';
import { isCollectionName } from '../../database/collection-names.ts';
import type { LogTail } from '../../events/log/log-tail.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { requireMediaType } from '../../lib/request.ts';
import { Policies } from '../policies.ts';
import type { PolicyRegistry } from '../policy-registry.ts';
import type { PolicySet } from '../policy-set.ts';
import { createAdminScopeGuard } from '../require-scope.ts';
import { policyWarnings } from '../warnings.ts';
import { newestEvents } from './newest-events.ts';
import { computePolicyEventImpact, computePolicySubscriptionImpact, type OpenSubscription } from './preview-effect.ts';
import { POLICY_PREVIEW_BODY, POLICY_PREVIEW_OPERATION } from './preview-openapi.ts';
import { collectPreviewPrincipals, formatPrincipal } from './sample-principals.ts';

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
