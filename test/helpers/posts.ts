/** A collection of posts in production mode, its authors, and short functions that send requests as each of them. */
import type { Test } from 'tap';
import { buildTestApp, type TestApp } from './app.ts';
import { owner, speakingAs, user } from './principals.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Headers = Record<string, string>;

export const MERGE = 'application/merge-patch+json';
export const PATCH = 'application/json-patch+json';
export const UPDATE = 'application/vnd.millrace.update+json';

/** The part of a policy that limits it to the user's own posts. */
export const MINE = { resources: ['posts'], filter: { authorId: '$user.id' } };

export const POSTS = [
  { id: 'a', authorId: 'ann', title: 'A', secret: 1, address: { city: 'X', street: 'S' }, items: [{ n: 1, cost: 5 }] },
  { id: 'b', authorId: 'bob', title: 'B', secret: 2, public: true },
  { id: 'c', authorId: 'bob', title: 'C', secret: 3 },
];

export async function postsFixture(t: Test) {
  const { app, services }: TestApp = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const as = speakingAs(services);
  const boss = as(owner());

  const request = async (who: Headers, method: Method, url: string, send?: unknown, headers: Headers = {}) => {
    const payload = send === undefined ? {} : { payload: JSON.stringify(send) };
    const type = send === undefined ? {} : { 'content-type': 'application/json' };
    const response = await app.inject({ method, url, ...payload, headers: { ...type, ...who, ...headers } });
    const json = response.body === '' ? null : response.json();
    return { status: response.statusCode, json, code: json?.code, headers: response.headers };
  };

  return {
    app,
    parts: services,
    as,
    boss,
    ann: as(user('ann', ['author'])),
    bob: as(user('bob', ['author'])),
    request,
    patch: (who: Headers, url: string, type: string, send: unknown) =>
      request(who, 'PATCH', url, send, { 'content-type': type }),
    /** The stored document, read by the administrator, with any policies. */
    stored: async (url: string) => (await request(boss, 'GET', url)).json,
    /** Resets the collection to the three posts. */
    fresh: async () => {
      await request(boss, 'DELETE', '/api/posts?filter={}', undefined, { prefer: 'max-affected=100' });
      await request(boss, 'POST', '/api/posts', POSTS);
    },
  };
}
