/** The status of a running server and its parts, for operators. Not public: load balancers use `/readyz`. */
import type { FastifyInstance } from 'fastify';
import { declareOperation, jsonResponse, QUERY_PARAMETER_ERRORS } from '../openapi/operation.ts';
import { createAdminScopeGuard } from '../policies/admin-scope-guard.ts';
import type { Policies } from '../policies/policies.ts';
import type { Scope } from '../policies/scope.ts';

const OPERATION = declareOperation({
  id: 'getStatus',
  tag: 'admin',
  summary: 'Get the status of the server',
  responses: jsonResponse('The status.', {
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
            description: '`low`: new documents and files are rejected; `full`: deletions as well.',
          },
          freeBytes: { type: ['integer', 'null'] },
          neededBytes: { type: 'integer', description: 'Free bytes below which nothing new is stored.' },
        },
      },
      events: { type: 'object', description: 'The status of the event log.' },
      functions: {
        type: 'object',
        required: ['droppedRuns'],
        properties: {
          droppedRuns: {
            type: 'integer',
            description: 'Runs that could not be stored since the process started.',
          },
        },
      },
      webhooks: {
        type: 'object',
        required: ['sender'],
        description: 'What sends webhooks.',
        properties: {
          sender: {
            type: 'object',
            required: ['kind'],
            properties: {
              kind: { type: 'string', enum: ['direct', 'svix'], description: '`direct`: Millrace itself.' },
              url: { type: 'string', description: 'URL of Svix.' },
              reachable: {
                type: ['boolean', 'null'],
                description: 'Whether Svix responded to the last call of this process; null before the first one.',
              },
              error: { type: ['string', 'null'], description: 'Why Svix cannot be used at the moment.' },
            },
          },
        },
      },
      realtime: {
        type: 'object',
        required: ['connections'],
        properties: {
          connections: { type: 'integer', description: 'Open sockets and streams of this process.' },
        },
      },
    },
  }),
  errors: QUERY_PARAMETER_ERRORS,
});

export interface AdminStatusRoutesOptions {
  readonly policies: Policies;
  readonly events: {
    /** The status of the event log. */
    readonly state: (scope: Scope<'read', '_admin'>) => Promise<object>;
  };
  readonly runs: { readonly dropped: () => number };
  readonly realtime: { readonly connections: number };
  readonly space?: { readonly state: object } | undefined;
  readonly sender: { readonly state: () => object };
}

export async function adminStatusRoutes(app: FastifyInstance, options: AdminStatusRoutesOptions): Promise<void> {
  const { policies, events, runs, realtime, sender, space } = options;
  const enter = createAdminScopeGuard(policies, '_admin');

  app.get('/admin/status', { config: OPERATION }, async (request) => ({
    events: await events.state(enter(request, 'read')),
    functions: { droppedRuns: runs.dropped() },
    webhooks: { sender: sender.state() },
    realtime: { connections: realtime.connections },
    disk: space?.state ?? null,
  }));
}
