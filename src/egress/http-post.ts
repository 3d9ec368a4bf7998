/** One POST to another server, without the standard's `Request` and `Response`: for deliveries, thousands a second. */
import type { Dispatcher } from 'undici';
import { asEgressError, egressError } from './egress-error.ts';

export interface PostRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Timeout of the whole call, in milliseconds, from the name lookup to the last byte read. */
  readonly timeoutMs: number;
  /** How many bytes of the response body are read; a longer body closes the connection and is no error. */
  readonly maxBytes: number;
}

export interface PostResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The beginning of the body, at most `maxBytes`. */
  readonly body: Buffer;
}

/**
 * Sends a request and reads the beginning of the response. Follows no redirect.
 * @throws EgressError when there is no response
 */
export function post(agent: Dispatcher, url: URL, request: PostRequest): Promise<PostResponse> {
  const { headers, body, timeoutMs, maxBytes } = request;
  const { origin } = url;
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let [status, size] = [0, 0];
    let response: PostResponse['headers'] = {};
    let begun: Dispatcher.DispatchController | null = null;
    let over = false;
    const finish = () => {
      over = true;
      clearTimeout(timer);
    };
    const succeed = () => {
      finish();
      resolve({ status, headers: response, body: Buffer.concat(parts).subarray(0, maxBytes) });
    };
    const fail = (error: unknown) => {
      if (over) return;
      finish();
      reject(asEgressError(error, origin));
    };
    // undici cannot abort a call that still waits for its connection. Once aborted, it must not be sent later.
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
          response = fields;
        },
        onResponseData: (controller, chunk) => {
          if (over) return;
          parts.push(chunk);
          size += chunk.length;
          if (size < maxBytes) return;
          succeed();
          controller.abort(egressError('response-too-large', origin));
        },
        onResponseEnd: () => {
          if (!over) succeed();
        },
        onResponseError: (_, error) => fail(error),
      },
    );
  });
}
