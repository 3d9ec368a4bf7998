/**
 * Long answers as routes send them: the memory that one holds is counted for its client, the client must read at a
 * least rate, and the answer goes on only while the rights hold that it began with. Not here: the counting
 * (kernel/answers), and what the rights are.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { clientOf } from '../../auth/identity/principal.ts';
import type { OpenAnswer, OpenAnswers } from '../../kernel/answers/open-answers.ts';
import { type Grants, type RightsParts, StandingRights } from './standing-rights.ts';

export interface LongAnswersParts extends RightsParts {
  readonly openAnswers: OpenAnswers;
}

export interface LongAnswer extends OpenAnswer {
  /**
   * The same chunks, each given out only while the rights hold: the answer ends before the first chunk that may no
   * longer be shown.
   */
  allowed<T>(chunks: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T>;
}

export class LongAnswers {
  readonly #parts: LongAnswersParts;

  constructor(parts: LongAnswersParts) {
    this.#parts = parts;
  }

  /**
   * Counts an answer until its response closes.
   * @param grants the rights it began with; null if they cannot be taken back
   * @param bytes the memory that it holds
   * @throws MillraceError `too-much-held`, `overloaded`
   */
  begin(
    { asker, ip }: Pick<FastifyRequest, 'asker' | 'ip'>,
    response: ServerResponse,
    grants: Grants | null,
    bytes: number,
  ): LongAnswer {
    const { resize } = this.#parts.openAnswers.begin(response, clientOf(asker, ip), bytes);
    const rights = grants === null ? null : new StandingRights(this.#parts, grants);
    response.once('close', () => rights?.end());
    return { resize, allowed: (chunks) => whileAllowed(chunks, rights) };
  }

  /**
   * Watches the rights of an upload.
   * @returns the watch: check it before the commit, and end it in any case
   */
  watch(grants: Grants): StandingRights {
    return new StandingRights(this.#parts, grants);
  }
}

async function* whileAllowed<T>(
  chunks: Iterable<T> | AsyncIterable<T>,
  rights: StandingRights | null,
): AsyncGenerator<T> {
  for await (const chunk of chunks) {
    const asked = rights?.check();
    if (asked !== undefined) await asked;
    yield chunk;
  }
}
