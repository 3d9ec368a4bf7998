/** A collection of posts in production mode, its authors, and short functions that send requests as each of them. */
import type { Test } from 'tap';
import { buildTestApp, type TestApp } from './app.ts';
import { owner, speakingAs, user } from './principals.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Headers = Record<string, string>;

export const MERGE = 'application/merge-patch+json';
export const PATCH = 'application/json-patch+json';
export const UPDATE = 'application/vnd.millrace.update+json';

/** The part of a policy that limits it to one's own posts. */
export const MINE = { collections: ['posts'], where: { authorId: '$user.id' } };

export const POSTS = [
  { id: 'a', authorId: 'ann', title: 'A', secret: 1, address: { city: 'X', street: 'S' }, items: [{ n: 1, cost: 5 }] },
  { id: 'b', authorId: 'bob', title: 'B', secret: 2, public: true },
  { id: 'c', authorId: 'bob', title: 'C', secret: 3 },
];

export async function postsWorld(t: Test) {
  const { app, parts }: TestApp = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const as = speakingAs(parts);
  const boss = as(owner());

  const ask = async (who: Headers, method: Method, url: string, send?: unknown, headers: Headers = {}) => {
    const payload = send === undefined ? {} : { payload: JSON.stringify(send) };
    const type = send === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await app.inject({ method, url, ...payload, headers: { ...type, ...who, ...headers } });
    const json = answer.body === '' ? null : answer.json();
    return { status: answer.statusCode, json, code: json?.code, headers: answer.headers };
  };

  return {
    app,
    parts,
    as,
    boss,
    ann: as(user('ann', ['author'])),
    bob: as(user('bob', ['author'])),
    ask,
    patch: (who: Headers, url: string, type: string, send: unknown) =>
      ask(who, 'PATCH', url, send, { 'content-type': type }),
    /** The stored document, read by the owner, whatever policies there are. */
    stored: async (url: string) => (await ask(boss, 'GET', url)).json,
    /** Puts the collection back to the three posts. */
    fresh: async () => {
      await ask(boss, 'DELETE', '/api/posts?filter={}', undefined, { prefer: 'max-affected=100' });
      await ask(boss, 'POST', '/api/posts', POSTS);
    },
  };
}
