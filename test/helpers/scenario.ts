/**
 * A table of HTTP scenarios: name, request, expected status, headers and body. `expect` is matched (strings, patterns,
 * functions), `code` is the code of an error. If events are watched, a row lists those of its request, and no others
 * may occur.
 */
import type { FastifyInstance, InjectOptions } from 'fastify';
import type { Test } from 'tap';
import { type EventWatch, type Expected, sameEvents } from './events/event-watch.ts';

export interface Scenario {
  readonly name: string;
  /** `METHOD path`. */
  readonly request: string;
  readonly headers?: Record<string, string>;
  /** Sent as JSON unless it is a string or a buffer. */
  readonly send?: unknown;
  readonly status: number;
  /** Headers that must match; null: must be absent. */
  readonly expectHeaders?: Record<string, string | RegExp | null>;
  /** The code of the problem document. */
  readonly code?: string;
  /** A value that the JSON body must match. */
  readonly expect?: unknown;
  /** The exact text of the body. */
  readonly text?: string;
  /** The events of the request, in their order; none if absent. Not checked without a watch. */
  readonly events?: readonly Expected[];
}

/**
 * Runs the rows in order, each as a test of its own. With a watch, the events of each row must be exactly those that it
 * lists.
 */
export async function runScenarios(
  t: Test,
  app: FastifyInstance,
  scenarios: readonly Scenario[],
  watch?: EventWatch,
): Promise<void> {
  // Skips the events of actions before the first row.
  await watch?.created();
  for (const scenario of scenarios) {
    await t.test(scenario.name, async (t) => {
      const response = await app.inject(toRequest(scenario));
      t.equal(response.statusCode, scenario.status, `status; body: ${response.body.slice(0, 300)}`);
      for (const [name, expected] of Object.entries(scenario.expectHeaders ?? {})) {
        if (expected === null) t.notOk(name in response.headers, `no ${name}`);
        else t.match(String(response.headers[name]), expected, name);
      }
      if (scenario.code !== undefined) {
        t.match(response.headers['content-type'], /^application\/problem\+json/);
        t.match(response.json(), {
          code: scenario.code,
          status: scenario.status,
          request: String(response.headers['x-request-id']),
        });
      }
      if (scenario.expect !== undefined) t.match(response.json(), scenario.expect);
      if (scenario.text !== undefined) t.equal(response.body, scenario.text);
      if (watch !== undefined) sameEvents(t, await watch.created(), scenario.events ?? []);
      else if (scenario.events !== undefined) throw new Error('Events are listed without a watch');
    });
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

function toRequest({ request, headers, send }: Scenario): InjectOptions {
  const [verb = '', url = ''] = request.split(/ (.*)/);
  const method = METHODS.find((known) => known === verb);
  if (!method) throw new Error(`${verb} is no method`);
  if (send === undefined) return { method, url, headers: headers ?? {} };
  const payload = typeof send === 'string' || Buffer.isBuffer(send) ? send : JSON.stringify(send);
  return { method, url, payload, headers: { 'content-type': 'application/json', ...headers } };
}
