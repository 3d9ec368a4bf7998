/**
 * One POST to another server, without the standard's `Request` and `Response`: for deliveries, of which there are thousands
 * a second. Not here: which addresses may be called (reach.ts), and how many calls there may be (egress.ts).
 */
import type { Dispatcher } from 'undici';
import { asEgressError, egressError } from './egress-error.ts';

export interface PostRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Time for the whole call, in milliseconds, from the name that is looked up to the last byte that is read. */
  readonly timeoutMs: number;
  /** So many bytes of the answer's body are read; what is beyond ends the connection and is no error. */
  readonly maxBytes: number;
}

export interface PostAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The beginning of the body, at most `maxBytes`. */
  readonly body: Buffer;
}

/**
 * Sends a request and reads the beginning of the answer. Follows no redirect.
 * @throws EgressError when there is no answer
 */
export function post(agent: Dispatcher, url: URL, request: PostRequest): Promise<PostAnswer> {
  const { headers, body, timeoutMs, maxBytes } = request;
  const { origin } = url;
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let [status, size] = [0, 0];
    let answered: PostAnswer['headers'] = {};
    let begun: Dispatcher.DispatchController | null = null;
    let over = false;
    const finish = () => {
      over = true;
      clearTimeout(timer);
    };
    const succeed = () => {
      finish();
      resolve({ status, headers: answered, body: Buffer.concat(parts).subarray(0, maxBytes) });
    };
    const fail = (error: unknown) => {
      if (over) return;
      finish();
      reject(asEgressError(error, origin));
    };
    // undici ends a call that waits for its connection only when there is one. Then it must not be sent any more.
    const timer = setTimeout(() => {
      const error = egressError('timeout', origin);
      fail(error);
      begun?.abort(error);
    }, timeoutMs);
    agent.dispatch(
      { origin, path: `${url.pathname}${url.search}`, method: 'POST', headers, body },
      {
        onRequestStart: (controller) => {
          begun = controller;
          if (over) controller.abort(egressError('timeout', origin));
        },
        onResponseStart: (_, code, fields) => {
          status = code;
          answered = fields;
        },
        onResponseData: (controller, chunk) => {
          if (over) return;
          parts.push(chunk);
          size += chunk.length;
          if (size < maxBytes) return;
          succeed();
          controller.abort(egressError('too-large', origin));
        },
        onResponseEnd: () => {
          if (!over) succeed();
        },
        onResponseError: (_, error) => fail(error),
      },
    );
  });
}
