/** Every way in which a client can write documents, for tests of write hooks: on `d1` and `d2`, which exist. */
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import type { PatchMediaType } from '../../../src/collections/patch/patch-bodies.ts';

export const SEEDED = [
  { id: 'd1', n: 1, tag: 'old' },
  { id: 'd2', n: 2, tag: 'old' },
];

export interface Way {
  readonly name: string;
  readonly action: 'create' | 'update' | 'delete';
  /** The documents that are written. */
  readonly ids: readonly string[];
  readonly status: number;
  readonly request: Omit<InjectOptions, 'url'> & { readonly url: string };
}

/** A patch of every kind that sets `n` to 5. A kind that is missing here does not compile. */
const PATCHES: Readonly<Record<PatchMediaType, { readonly name: string; readonly payload: object }>> = {
  'application/merge-patch+json': { name: 'merge patch', payload: { n: 5 } },
  'application/json': { name: 'merge patch as plain JSON', payload: { n: 5 } },
  'application/json-patch+json': { name: 'JSON Patch', payload: [{ op: 'replace', path: '/n', value: 5 }] },
  'application/vnd.millrace.update+json': { name: 'update operators', payload: { $set: { n: 5 } } },
};

const json = 'application/json';
const upTo2 = { prefer: 'max-affected=2' };
const batch = (...operations: object[]) => ({ method: 'POST', url: '/batch', payload: { operations } }) as const;

/**
 * All of them, in a collection.
 * @param key a text that no other test uses as an idempotency key
 */
export function waysToWrite(name: string, key: string): readonly Way[] {
  const all = `/api/${name}`;
  const [one, fresh] = [`${all}/d1`, `${all}/new1`];
  const keyed = (of: string) => ({ 'idempotency-key': `${key}-${of}` });
  const created = { action: 'create', ids: ['new1'], status: 201 } as const;
  const updated = { action: 'update', ids: ['d1'], status: 200 } as const;
  const deleted = { action: 'delete', ids: ['d1'], status: 204 } as const;
  return [
    { name: 'POST', ...created, request: { method: 'POST', url: all, payload: { id: 'new1', n: 5 } } },
    {
      name: 'POST of many',
      ...created,
      ids: ['new1', 'new2'],
      request: { method: 'POST', url: all, payload: ['new1', 'new2'].map((id) => ({ id, n: 5 })) },
    },
    { name: 'PUT', ...updated, request: { method: 'PUT', url: one, payload: { n: 5 } } },
    {
      name: 'PUT that upserts',
      ...created,
      request: { method: 'PUT', url: `${fresh}?upsert=true`, payload: { n: 5 } },
    },
    {
      name: 'PUT that only creates',
      ...created,
      request: { method: 'PUT', url: fresh, headers: { 'if-none-match': '*' }, payload: { n: 5 } },
    },
    ...Object.entries(PATCHES).map(([type, { name, payload }]) => {
      const headers = { 'content-type': type };
      return { name, ...updated, request: { method: 'PATCH', url: one, headers, payload } } as const;
    }),
    {
      name: 'PATCH by filter',
      ...updated,
      ids: ['d1', 'd2'],
      request: { method: 'PATCH', url: `${all}?tag=old`, headers: upTo2, payload: { n: 5 } },
    },
    { name: 'DELETE', ...deleted, request: { method: 'DELETE', url: one } },
    {
      name: 'DELETE by filter',
      ...deleted,
      ids: ['d1', 'd2'],
      status: 200,
      request: { method: 'DELETE', url: `${all}?tag=old`, headers: upTo2 },
    },
    {
      name: 'batch that creates',
      ...created,
      status: 200,
      request: batch({ method: 'POST', path: all, body: { id: 'new1', n: 5 } }),
    },
    {
      name: 'batch that changes',
      ...updated,
      request: batch({ method: 'PATCH', path: one, body: { n: 5 } }),
    },
    { name: 'batch that deletes', ...deleted, status: 200, request: batch({ method: 'DELETE', path: one }) },
    {
      name: 'POST with a key',
      ...created,
      request: { method: 'POST', url: all, headers: keyed('post'), payload: { id: 'new1', n: 5 } },
    },
    {
      name: 'PATCH with a key',
      ...updated,
      request: { method: 'PATCH', url: one, headers: { ...keyed('patch'), 'content-type': json }, payload: { n: 5 } },
    },
    { name: 'DELETE with a key', ...deleted, request: { method: 'DELETE', url: one, headers: keyed('delete') } },
  ];
}

export function write(
  app: FastifyInstance,
  { request }: Way,
  headers: Record<string, string> = {},
): Promise<LightMyRequestResponse> {
  return app.inject({ ...request, headers: { ...headers, ...request.headers } });
}
