/**
 * One try of a delivery: the request, the call, and what is kept of both, without secrets. Not here: what follows from the
 * answer (outcome.ts).
 */
import { EgressError } from '../../../egress/egress-error.ts';
import type { PostAnswer, PostRequest } from '../../../egress/post.ts';
import type { EndpointTarget } from '../../endpoint/endpoint.ts';
import { BLANK } from '../../endpoint/endpoint-schema.ts';
import { Blanks } from '../blanks.ts';
import { type Answered, NO_BODY, statusError } from '../outcome.ts';
import type { StoredAttempt } from '../queue/delivery-row.ts';
import type { Trigger } from '../sender.ts';
import { Signer } from '../signature.ts';

const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie']);

/** How the program calls an endpoint (egress/egress.ts). */
export interface Poster {
  /** @throws EgressError when there is no answer */
  post(url: string, request: PostRequest): Promise<PostAnswer>;
}

/** An endpoint, made ready for being called. */
export class Callee {
  readonly target: EndpointTarget;
  readonly #signer: Signer;
  readonly #fixed: Readonly<Record<string, string>>;
  /** `#fixed` as it is shown. */
  readonly #shown: Readonly<Record<string, string>>;
  readonly #blanks: Blanks;

  /** @param agent value of `user-agent` */
  constructor(target: EndpointTarget, agent: string) {
    this.target = target;
    this.#signer = new Signer(target.secrets);
    const ours = { 'content-type': 'application/json', 'user-agent': agent };
    this.#fixed = { ...target.headers, ...ours };
    this.#blanks = new Blanks(target);
    this.#shown = { ...this.#blanks.headers, ...ours };
  }

  /**
   * Makes one try. Never throws. Without a body there is nothing to send, which is an error.
   * @param now milliseconds since 1970, for the signature and for what is kept
   */
  async call(
    poster: Poster,
    one: { readonly event: string; readonly body: string | null; readonly trigger: Trigger },
    now: number,
    timeoutMs: number,
  ): Promise<{ readonly answered: Answered; readonly attempt: StoredAttempt }> {
    const signed = this.#signer.headers(one.event, one.body ?? '', now);
    const begun = performance.now();
    const kept = (status: number | null, error: string | null, response: StoredAttempt['response']) => ({
      at: new Date(now),
      ms: Math.round(performance.now() - begun),
      status,
      error,
      trigger: one.trigger,
      request: JSON.stringify({ ...this.#shown, ...signed }),
      response,
    });
    const none = (error: string) => ({
      answered: { status: null, error, retryAfter: undefined },
      attempt: kept(null, error, null),
    });
    if (one.body === null) return none(NO_BODY);
    try {
      const headers = { ...this.#fixed, ...signed };
      const request = { headers, body: one.body, timeoutMs, maxBytes: this.#blanks.maxBytes };
      const { status, headers: fields, body } = await poster.post(this.target.url, request);
      const error = statusError(status);
      const asked = fields['retry-after'];
      const response = { headers: this.#shownFields(fields), body: this.#blanks.body(body.toString('utf8')) };
      const retryAfter = typeof asked === 'string' ? asked : undefined;
      return { answered: { status, error, retryAfter }, attempt: kept(status, error, response) };
    } catch (fault) {
      return none(fault instanceof EgressError ? fault.kind : 'unreachable');
    }
  }

  /** The fields of an answer as JSON. */
  #shownFields(fields: PostAnswer['headers']): string {
    const shown: Record<string, string> = {};
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      const text = typeof value === 'string' ? value : value.join(', ');
      shown[name] = CREDENTIALS.has(name) ? BLANK : this.#blanks.text(text);
    }
    return JSON.stringify(shown);
  }
}
