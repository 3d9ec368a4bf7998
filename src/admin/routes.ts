/**
 * What an operator asks of a running server: how its parts are doing. Not public: load balancers ask `/readyz`.
 */
import type { FastifyInstance } from 'fastify';
import { ASKED_ERRORS, answer, operation } from '../contract/operation.ts';
import { enterAt } from '../policies/http/enter-at.ts';
import type { Policies } from '../policies/policies.ts';
import type { Scope } from '../policies/scope.ts';

const OPERATION = operation({
  id: 'state',
  tag: 'Running it',
  summary: 'The state of the parts of the server',
  answers: answer('The state.', {
    type: 'object',
    required: ['events', 'functions', 'realtime', 'webhooks', 'disk'],
    properties: {
      disk: {
        type: ['object', 'null'],
        required: ['level', 'freeBytes', 'neededBytes'],
        description: 'The disk of the embedded database; null with another one.',
        properties: {
          level: {
            type: 'string',
            enum: ['enough', 'low', 'full'],
            description: '`low`: new documents and files are refused; `full`: deletions as well.',
          },
          freeBytes: { type: ['integer', 'null'] },
          neededBytes: { type: 'integer', description: 'Free bytes below which nothing new is stored.' },
        },
      },
      events: { type: 'object', description: 'How the event log is doing.' },
      functions: {
        type: 'object',
        required: ['droppedRuns'],
        properties: {
          droppedRuns: {
            type: 'integer',
            description: 'Runs that were to be kept and could not be stored, since the process began.',
          },
        },
      },
      webhooks: {
        type: 'object',
        required: ['sender'],
        description: 'Who sends webhooks.',
        properties: {
          sender: {
            type: 'object',
            required: ['kind'],
            properties: {
              kind: { type: 'string', enum: ['direct', 'svix'], description: '`direct`: Millrace itself.' },
              url: { type: 'string', description: 'Address of Svix.' },
              answers: {
                type: ['boolean', 'null'],
                description: 'Whether Svix answered this process the last time; null before the first call.',
              },
              fault: { type: ['string', 'null'], description: 'Why Svix cannot be used at the moment.' },
            },
          },
        },
      },
      realtime: {
        type: 'object',
        required: ['connections'],
        properties: {
          connections: { type: 'integer', description: 'Sockets and streams that are open at this process.' },
        },
      },
    },
  }),
  errors: ASKED_ERRORS,
});

export interface AdminRoutesOptions {
  readonly policies: Policies;
  readonly events: {
    /** How the event log is doing. */
    readonly state: (scope: Scope<'read', 'admin'>) => Promise<object>;
  };
  readonly functions: { readonly runs: { readonly dropped: () => number } };
  readonly realtime: { readonly connections: number };
  readonly space?: { readonly state: object } | undefined;
  readonly webhooks: { readonly sender: { readonly state: () => object } };
}

export async function adminRoutes(app: FastifyInstance, options: AdminRoutesOptions): Promise<void> {
  const { policies, events, functions, realtime, webhooks, space } = options;
  const enter = enterAt(policies, 'admin');

  app.get('/admin/state', { config: OPERATION }, async (request) => ({
    events: await events.state(enter(request, 'read')),
    functions: { droppedRuns: functions.runs.dropped() },
    webhooks: { sender: webhooks.sender.state() },
    realtime: { connections: realtime.connections },
    disk: space?.state ?? null,
  }));
}
