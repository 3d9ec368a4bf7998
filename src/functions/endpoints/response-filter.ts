/**
 * Validates the response of an HTTP function and filters its headers: some would weaken the protection of this server,
 * or belong to the connection. Pure.
 */
import type { Redactor } from '../plugins/redaction.ts';
import type { CallOutcome, FunctionResponse } from '../sandbox/sandbox.ts';

const MAX_HEADERS = 64;
const MAX_HEADER_BYTES = 8 * 1024;
/** RFC 9110 section 5.6.2 and 5.5. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that are never sent, as patterns of whole lower-case names. */
const NEVER: readonly RegExp[] = [
  // Cookies, and other headers with effects on the whole origin in the browser.
  /set-cookie2?|clear-site-data|strict-transport-security|service-worker-allowed|alt-svc|nel|report-to|reporting-endpoints/,
  /accept-ch|critical-ch|set-login|use-as-dictionary|attribution-reporting-[\w-]+|sec(ure)?-session-[\w-]+/,
  // Security headers that every response has.
  /content-security-policy(-report-only)?|x-[\w-]*-options|x-xss-protection|cross-origin-[\w-]+|origin-agent-cluster/,
  /referrer-policy|permissions-policy|x-permitted-cross-domain-policies|access-control-[\w-]+|timing-allow-origin/,
  // Headers of the connection, or set by the server.
  /connection|keep-alive|proxy-[\w-]+|te|trailer|transfer-encoding|upgrade|content-length|date|server|via/,
  /x-request-id|ratelimit|millrace-[\w-]+/,
  // Headers that proxies in front of this server obey.
  /x-accel-[\w-]+|x-sendfile[\w-]*|x-lighttpd-send-file|x-reproxy-url|surrogate-control|([\w-]+-)?cdn-cache-control/,
];

const DROPPED = new RegExp(`^(?:${NEVER.map(({ source }) => source).join('|')})$`, 'i');

/** The headers of a response that are sent. */
export function filterResponseHeaders(headers: FunctionResponse['headers']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (DROPPED.test(name) ? [] : [[name.toLowerCase(), value]])),
  );
}

/**
 * The outcome itself, or an error if it is not a valid HTTP response.
 * @param blank redacts the error, which quotes the code's response
 */
export function validateResponse(outcome: CallOutcome, blank: Redactor): CallOutcome {
  if (outcome.kind !== 'response') return outcome;
  const message = issueOf(outcome.response, blank);
  if (message === null) return outcome;
  return { kind: 'error', code: 'function-failed', message, stack: null, cpuMs: outcome.cpuMs };
}

function issueOf({ status, headers }: FunctionResponse, blank: Redactor): string | null {
  // 1xx are not final responses, and switch protocols.
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    return `The status of a Response must be a number from 200 to 599, not ${String(status).slice(0, 40)}`;
  }
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) return `A Response has at most ${MAX_HEADERS} headers`;
  if (entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0) > MAX_HEADER_BYTES) {
    return `The headers of a Response have at most ${MAX_HEADER_BYTES} bytes`;
  }
  for (const [name, value] of entries) {
    if (!TOKEN.test(name)) return `'${blank(name).slice(0, 80)}' is not a valid header name`;
    if (!VALUE.test(value))
      return `The value of the header '${blank(name).slice(0, 80)}' contains characters that are not allowed in headers`;
  }
  return null;
}
