/**
 * `POST /admin/policies/draft`: what a policy would change, before it is saved. For those who may save it: the answer tells about
 * documents and principals of all. Not here: how the changes are found (draft-effect.ts).
 */
import type { FastifyInstance } from 'fastify';
import type { Authenticator } from '../../auth/authenticator.ts';
import { isCollectionName } from '../../database/names.ts';
import type { EventParts } from '../../events/open-events.ts';
import type { Mode } from '../../kernel/config/config.ts';
import { checked } from '../../kernel/parse-body.ts';
import { requireMediaType } from '../../kernel/request.ts';
import { enterAt } from '../../policies/http/enter-at.ts';
import { Policies } from '../../policies/policies.ts';
import type { PolicyBook } from '../../policies/policy-book.ts';
import type { PolicySet } from '../../policies/policy-set.ts';
import { warningsOf } from '../../policies/warnings.ts';
import { effectOnEvents, effectOnSubscriptions, type OpenSubscription } from './draft-effect.ts';
import { DRAFT, TRY_DRAFT } from './draft-operation.ts';
import { newestEvents } from './newest-events.ts';
import { nameOf, principalsInPlay } from './principals-in-play.ts';

/** How long the events may take, in milliseconds, and of this the reading of accounts. */
const MAX_MS = 3_000;
const ACCOUNTS_MS = 1_000;

export interface DraftRoutesOptions {
  readonly policies: Policies;
  readonly policyBook: PolicyBook;
  readonly mode: Mode;
  readonly authenticator: Pick<Authenticator, 'standing'>;
  readonly events: Pick<EventParts, 'tail'>;
  /** The subscriptions that are open in this process. */
  readonly subscriptions: () => Iterable<OpenSubscription>;
}

export async function draftRoutes(app: FastifyInstance, options: DraftRoutesOptions): Promise<void> {
  const { policies, policyBook, mode, authenticator, events, subscriptions } = options;
  const enter = enterAt(policies, 'admin');

  app.post('/admin/policies/draft', { config: TRY_DRAFT }, async (request) => {
    const scope = enter(request, 'update');
    requireMediaType(request, ['application/json']);
    const { id, policy } = readDraft(request.body);
    const { now, next } = await policyBook.draft(scope, id, policy);
    const warnings = policy === null ? [] : warningsOf({ id, policy });
    const at = new Date();
    const sides = { now: inForce(now, mode, at), next: inForce(next, mode, at) };
    const begun = performance.now();
    const newest = await newestEvents(events.tail, begun + MAX_MS);
    const open = [...subscriptions()];
    const sources = {
      drafted: [now, next].flatMap((set) => set.policies.filter((one) => one.id === id)),
      others: next.policies.filter((one) => one.id !== id),
      subscribers: new Set(open.map(({ principal }) => principal)),
      actors: newest.rows.flatMap(({ by }) => by ?? []),
    };
    const inPlay = await principalsInPlay(sources, authenticator, begun + ACCOUNTS_MS);
    const effect = await effectOnEvents(sides, newest.rows, inPlay.principals, begun + MAX_MS);
    const { looked, ...changes } = effect;
    const named = [...new Set([...now.named, ...next.named])].filter(isCollectionName);
    return {
      ...(warnings.length === 0 ? {} : { warnings }),
      events: { looked, complete: newest.complete && looked === newest.rows.length },
      principals: { looked: inPlay.principals.map(nameOf), complete: inPlay.complete },
      ...changes,
      subscriptions: await effectOnSubscriptions(sides, open, named),
    };
  });
}

/** @throws MillraceError `invalid-body` */
function readDraft(body: unknown): { readonly id: string; readonly policy: object | null } {
  const { id, policy } = checked(DRAFT, body);
  if (policy === null) return { id, policy };
  // As in saving: a policy may carry its id.
  const { id: _, ...rest }: Readonly<Record<string, unknown>> = { id, ...policy };
  return { id, policy: rest };
}

/** The policies of a set as if they were in force, at one moment. */
function inForce(set: PolicySet, mode: Mode, at: Date): Policies {
  const made = new Policies(mode, () => at);
  made.use(set);
  return made;
}
