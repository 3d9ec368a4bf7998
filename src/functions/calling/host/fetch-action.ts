/**
 * `ctx.fetch`: only hosts that the manifest names, only networks that egress allows, no redirects, and no credentials
 * of the server.
 */
import type { Egress } from '../../../egress/egress.ts';
import { EgressError } from '../../../egress/egress-error.ts';
import { MillraceError } from '../../../lib/errors.ts';
import type { PluginFunction } from '../../plugins/plugin.ts';
import type { HostActions } from './host-action.ts';
import { createHostMatcher } from './host-matcher.ts';
import type { OperationArgument } from './operation-argument.ts';

/** Bytes of a response. */
const MAX_BYTES = 5 * 1_048_576;
const TIMEOUT_MS = 10_000;
/** Headers that belong to the connection, or would name a server other than the called one. */
const OWN_HEADERS =
  /^(?:host|connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade|via|proxy-.*|sec-.*|accept-encoding)$/i;
/** Placeholder URL to validate headers and body with. */
const ANYWHERE = 'https://any.invalid/';
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function fetchAction(egress: Pick<Egress, 'fetch'>, fn: PluginFunction): HostActions<'fetch'> {
  const mayFetch = createHostMatcher(fn.plugin.fetchHosts);

  async function run(argument: OperationArgument, signal: AbortSignal): Promise<string> {
    const url = argument.text('url');
    const target = URL.canParse(url) ? new URL(url) : null;
    if (target === null) throw refused('The URL is not valid');
    if (!mayFetch(target)) {
      throw refused(
        `The plugin is not allowed to fetch from ${target.host}`,
        'Its manifest lists the allowed hosts as fetch',
      );
    }
    const init = requestOf(argument);
    const timeoutMs = Math.min(Math.max(argument.optionalNumber('timeoutMs') ?? TIMEOUT_MS, 1), fn.timeoutMs);
    const limits = { timeoutMs, maxBytes: MAX_BYTES, pool: 'functions' } as const;
    // Pass the URL as written: the guard rejects unusual spellings of hosts.
    const response = await egress
      .fetch(url, { ...init, signal, redirect: 'manual' }, limits)
      .catch((error: unknown) => {
        throw error instanceof EgressError ? toMillrace(error) : error;
      });
    const body = Buffer.from(await response.arrayBuffer()).toString('base64');
    return `{"status":${response.status},"headers":${JSON.stringify(headersOf(response))},"base64":"${body}"}`;
  }

  return { ['fetch']: { writes: false, queue: 'free', target: targetOf, run } };
}

/** @throws MillraceError `fetch-not-allowed`, `malformed-request` */
function requestOf(argument: OperationArgument): {
  method: string;
  headers: Headers;
  body: Uint8Array<ArrayBuffer> | null;
} {
  const method = (argument.optionalText('method') ?? 'GET').toUpperCase();
  if (!METHODS.has(method)) throw refused('The method must not be used');
  const given = argument.texts('headers');
  const own = Object.keys(given).find((name) => OWN_HEADERS.test(name));
  if (own !== undefined) throw refused(`The header '${own.slice(0, 80)}' must not be set`);
  const bytes = argument.bytes();
  const body = bytes === undefined ? null : new Uint8Array(bytes);
  try {
    const headers = new Headers(given);
    // Rejects a body where the method has none, before an error is attributed to the other server.
    new Request(ANYWHERE, { method, headers, body });
    return { method, headers, body };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new MillraceError('malformed-request', 'The fetch request is malformed', { cause: error });
  }
}

/** Several cookies joined into one text could not be separated again. */
function headersOf({ headers }: Response): Readonly<Record<string, string>> {
  const cookies = headers.getSetCookie();
  return { ...Object.fromEntries(headers), ...(cookies.length === 0 ? {} : { 'set-cookie': cookies.join('\n') }) };
}

function toMillrace(error: EgressError): MillraceError {
  const isRefused = error.kind === 'blocked-url' || error.kind === 'blocked-ip';
  return new MillraceError(isRefused ? 'fetch-not-allowed' : 'fetch-failed', error.message, { cause: error });
}

function refused(message: string, hint?: string): MillraceError {
  return new MillraceError('fetch-not-allowed', message, hint === undefined ? {} : { hint });
}

/** The host alone: a URL may contain a secret. */
function targetOf({ fields: { url } }: OperationArgument): string {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).host : '';
}
