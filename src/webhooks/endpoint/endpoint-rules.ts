/**
 * Reads an endpoint as it was sent: its shape, its URL, its types, its filter, its headers and its secret. Pure but for a
 * secret that is made. Not here: who may write which (http/), and where it is kept (endpoint-store.ts).
 */
import { TypeKeeper } from '../../collections/change/kept-types.ts';
import { mergePatch } from '../../collections/change/next-document.ts';
import type { Egress } from '../../egress/egress.ts';
import { requireFilter } from '../../events/read/wanted-events.ts';
import { requireTypes } from '../../events/read/wanted-types.ts';
import { type Fault, faultsAt, MillraceError } from '../../kernel/errors.ts';
import { isPlain } from '../../kernel/objects.ts';
import { checked } from '../../kernel/parse-body.ts';
import type { EndpointInterest, EndpointTarget } from './endpoint.ts';
import { BLANK, ENDPOINT, type EndpointBody, NEW_ENDPOINT } from './endpoint-schema.ts';
import { headerFaults } from './own-headers.ts';
import { newSecret, secretFault } from './signing-secrets.ts';

/** An endpoint as it is written, complete, without what is secret. */
export interface WrittenEndpoint
  extends Pick<EndpointTarget, 'url' | 'ratePerSecond' | 'ordering' | 'schedule' | 'enabled'>,
    Pick<EndpointInterest, 'types' | 'filter'> {
  readonly name: string | null;
}

/** Header fields by lower-case name, with their values in clear. */
export type OwnHeaders = Readonly<Record<string, string>>;

/** An endpoint before its change. */
interface Before {
  readonly written: WrittenEndpoint;
  readonly headers: OwnHeaders;
}

/** What is asked of others about an endpoint. */
export interface EndpointRules {
  readonly checkUrl: Egress['checkUrl'];
  /** Why a header field cannot be sent, as a sentence without its subject; null when it can. Asked of what is new. */
  readonly headerFault?: (name: string) => string | null;
}

/** Characters of one endpoint as JSON. */
const MAX_CHARACTERS = 65_536;

/**
 * Reads a new endpoint.
 * @throws MillraceError `body-required`, `invalid-body`, `invalid-endpoint` with the places
 */
export function parseNewEndpoint(body: unknown, rules: EndpointRules): Before & { readonly secret: string } {
  const { secret, ...rest } = checked(NEW_ENDPOINT, body);
  const fault = secret === undefined ? null : secretFault(secret);
  const faults: Fault[] = fault === null ? [] : [{ pointer: '/secret', code: 'invalid-endpoint', detail: fault }];
  return { ...complete(rest, null, rules, faults), secret: secret ?? newSecret() };
}

/**
 * The endpoint after a merge patch (RFC 7396). The value of a header stays where the patch does not name it or sends back
 * what answers show, as long as it goes to the same origin. Otherwise somebody who may change an endpoint, but must not see
 * these values, could have them sent to another server.
 * @throws MillraceError `body-required`, `body-type`, `invalid-body`, `invalid-endpoint` with the places
 */
export function parseChange(patch: unknown, before: Before, rules: EndpointRules): Before {
  if (patch !== undefined && !isPlain(patch)) throw new MillraceError('body-type', 'A merge patch is a JSON object');
  const shown = { ...before.written, headers: blanked(Object.keys(before.headers)) };
  const merged = patch === undefined ? undefined : mergePatch(shown, lowerHeaders(patch), new TypeKeeper());
  return complete(checked(ENDPOINT, merged), before, rules, []);
}

/**
 * Reads an endpoint as it is kept: another program may have written what a request may not.
 * @throws MillraceError as the change of it would
 */
export function checkKept(written: unknown, headers: OwnHeaders, rules: EndpointRules): Before {
  return complete(checked(ENDPOINT, { ...(isPlain(written) ? written : {}), headers }), null, rules, []);
}

/** Own headers as answers show them. */
export function blanked(names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, BLANK]));
}

function complete(body: EndpointBody, before: Before | null, rules: EndpointRules, faults: Fault[]): Before {
  const { url, types } = body;
  const filter = isPlain(body.filter) ? body.filter : null;
  const refuse = (pointer: string, detail: string) => faults.push({ pointer, code: 'invalid-endpoint', detail });
  const urlFault = rules.checkUrl(url);
  if (urlFault !== null) refuse('/url', urlFault);
  for (const [index, type] of types.entries()) faults.push(...faultsAt(`/types/${index}`, () => requireTypes([type])));
  if (filter !== null) faults.push(...faultsAt('/filter', () => requireFilter(filter)));
  const { headers, lost } = withKept(body.headers ?? {}, before, urlFault === null && url);
  for (const name of lost) {
    refuse(`/headers/${escaped(name)}`, 'needs its value: it is kept only while the URL has the same origin');
  }
  for (const { name, detail } of headerFaults(headers)) {
    refuse(name === null ? '/headers' : `/headers/${escaped(name)}`, detail);
  }
  for (const [name, value] of Object.entries(headers)) {
    const isNew = before?.headers[name.toLowerCase()] !== value;
    const fault = isNew ? (rules.headerFault?.(name) ?? null) : null;
    if (fault !== null) refuse(`/headers/${escaped(name)}`, fault);
  }
  if (JSON.stringify(body).length > MAX_CHARACTERS) refuse('', `It has more than ${MAX_CHARACTERS} characters`);
  const [first] = faults;
  if (first !== undefined) {
    const message = `The endpoint is not as expected: ${first.pointer || '/'} ${first.detail}`;
    throw new MillraceError('invalid-endpoint', message, { faults });
  }
  const { name = null, ratePerSecond = null, ordering = 'none', schedule = 'standard', enabled = true } = body;
  return {
    written: { name, url, types, filter, ratePerSecond, ordering, schedule, enabled },
    headers: Object.fromEntries(Object.entries(headers).map(([one, value]) => [one.toLowerCase(), value])),
  };
}

/** The headers with the values that are kept, and the names of those whose value is missing. */
function withKept(sent: OwnHeaders, before: Before | null, url: string | false) {
  const stays = before !== null && url !== false && new URL(url).origin === new URL(before.written.url).origin;
  const headers: Record<string, string> = {};
  const lost: string[] = [];
  for (const [name, value] of Object.entries(sent)) {
    const kept = stays && Object.hasOwn(before.headers, name) ? before.headers[name] : undefined;
    if (value !== BLANK) headers[name] = value;
    else if (kept !== undefined) headers[name] = kept;
    // With a URL that cannot be used, nothing is known of its origin.
    else if (url !== false) lost.push(name);
  }
  return { headers, lost };
}

/** The patch with the names of headers as they are kept. */
function lowerHeaders(patch: Record<string, unknown>): Record<string, unknown> {
  const { headers } = patch;
  if (!isPlain(headers)) return patch;
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return { ...patch, headers: Object.fromEntries(lower) };
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
