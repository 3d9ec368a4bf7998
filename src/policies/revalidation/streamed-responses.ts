/**
 * Streamed responses of routes: the memory that one holds counts for its client, the client must read at a minimum
 * rate, and the response continues only while the rights hold that it began with.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { clientLimitKey } from '../../auth/identity/principal.ts';
import type { OpenResponse, OpenResponses } from '../../lib/streaming/slow-reader-limits.ts';
import { type RevalidationDeps, type RightsAtRequestStart, RightsRevalidation } from './revalidation.ts';

export interface StreamedResponsesDeps extends RevalidationDeps {
  readonly openResponses: OpenResponses;
}

export interface StreamedResponse extends OpenResponse {
  /**
   * The same chunks, each released only while the rights hold: the response ends before the first chunk that may no
   * longer be read.
   */
  allowed<T>(chunks: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T>;
}

export class StreamedResponses {
  readonly #deps: StreamedResponsesDeps;

  constructor(deps: StreamedResponsesDeps) {
    this.#deps = deps;
  }

  /**
   * Counts a response until it closes.
   * @param grants the rights it began with; null if they cannot be revoked
   * @param bytes the memory that it holds
   * @throws MillraceError `client-memory-exceeded`, `overloaded`
   */
  begin(
    { asker, ip }: Pick<FastifyRequest, 'asker' | 'ip'>,
    response: ServerResponse,
    grants: RightsAtRequestStart | null,
    bytes: number,
  ): StreamedResponse {
    const { resize } = this.#deps.openResponses.begin(response, clientLimitKey(asker, ip), bytes);
    const rights = grants === null ? null : new RightsRevalidation(this.#deps, grants);
    response.once('close', () => rights?.end());
    return { resize, allowed: (chunks) => whileAllowed(chunks, rights) };
  }

  /**
   * Watches the rights of an upload.
   * @returns the watch: check it before the commit, and end it in any case
   */
  watch(grants: RightsAtRequestStart): RightsRevalidation {
    return new RightsRevalidation(this.#deps, grants);
  }
}

async function* whileAllowed<T>(
  chunks: Iterable<T> | AsyncIterable<T>,
  rights: RightsRevalidation | null,
): AsyncGenerator<T> {
  for await (const chunk of chunks) {
    const requested = rights?.check();
    if (requested !== undefined) await requested;
    yield chunk;
  }
}
