/**
 * Validates an endpoint from a request: schema, URL, filter, headers and secret. Pure, except for generating a secret.
 */
import { BsonTypePreserver } from '../../collections/write/bson-type-preservation.ts';
import { mergePatch } from '../../collections/write/build-document.ts';
import type { Egress } from '../../egress/egress.ts';
import { validateEventFilter } from '../../events/read/event-filter.ts';
import { requireEventTypes } from '../../events/read/type-patterns.ts';
import { catchIssues, type Issue, MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { headerIssues } from './custom-headers.ts';
import type { EndpointDeliverySettings, EndpointSubscription } from './endpoint.ts';
import { ENDPOINT_BODY, type EndpointBody, MASKED_HEADER_VALUE, NEW_ENDPOINT_BODY } from './endpoint-schema.ts';
import { createSigningSecret, signingSecretIssue } from './signing-secrets.ts';

/** A complete endpoint from a request, without its secrets. */
export interface EndpointSettings
  extends Pick<EndpointDeliverySettings, 'url' | 'ratePerSecond' | 'ordering' | 'retrySchedule' | 'enabled'>,
    Pick<EndpointSubscription, 'types' | 'filter'> {
  readonly name: string | null;
}

/** Header fields by lower-case name, with plaintext values. */
export type CustomHeaders = Readonly<Record<string, string>>;

/** An endpoint before a change. */
interface Before {
  readonly written: EndpointSettings;
  readonly headers: CustomHeaders;
}

/** Checks that depend on other parts. */
export interface EndpointRules {
  readonly checkUrl: Egress['checkUrl'];
  /**
   * Why a header field cannot be sent, as a sentence without its subject; null if it can. Called for new fields only.
   */
  readonly headerIssue?: (name: string) => string | null;
}

/** Limit of one endpoint, in characters of JSON. */
const MAX_CHARACTERS = 65_536;

/**
 * Validates a new endpoint.
 * @throws MillraceError `body-required`, `invalid-body`, `invalid-endpoint` with JSON Pointers
 */
export function parseNewEndpoint(body: unknown, rules: EndpointRules): Before & { readonly secret: string } {
  const { secret, ...rest } = validateBody(NEW_ENDPOINT_BODY, body);
  const issue = secret === undefined ? null : signingSecretIssue(secret);
  const issues: Issue[] = issue === null ? [] : [{ pointer: '/secret', code: 'invalid-endpoint', detail: issue }];
  return { ...complete(rest, null, rules, issues), secret: secret ?? createSigningSecret() };
}

/**
 * The endpoint after a merge patch (RFC 7396). The value of a header stays where the patch does not name it or sends back
 * what answers show, as long as it goes to the same origin. Otherwise somebody who may change an endpoint, but must not see
 * these values, could have them sent to another server.
 * @throws MillraceError `body-required`, `invalid-body-type`, `invalid-body`, `invalid-endpoint` with the places
 */
export function parseEndpointPatch(patch: unknown, before: Before, rules: EndpointRules): Before {
  if (patch !== undefined && !isPlainObject(patch))
    throw new MillraceError('invalid-body-type', 'A merge patch must be a JSON object');
  const shown = { ...before.written, headers: maskHeaders(Object.keys(before.headers)) };
  const merged = patch === undefined ? undefined : mergePatch(shown, lowerHeaders(patch), new BsonTypePreserver());
  return complete(validateBody(ENDPOINT_BODY, merged), before, rules, []);
}

/**
 * Validates a stored endpoint: another program may have written what a request cannot.
 * @throws MillraceError as a change of it would
 */
export function validateStoredEndpoint(written: unknown, headers: CustomHeaders, rules: EndpointRules): Before {
  return complete(
    validateBody(ENDPOINT_BODY, { ...(isPlainObject(written) ? written : {}), headers }),
    null,
    rules,
    [],
  );
}

/** Custom headers as responses show them. */
export function maskHeaders(names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, MASKED_HEADER_VALUE]));
}

function complete(body: EndpointBody, before: Before | null, rules: EndpointRules, issues: Issue[]): Before {
  const { url, types } = body;
  const filter = isPlainObject(body.filter) ? body.filter : null;
  const refuse = (pointer: string, detail: string) => issues.push({ pointer, code: 'invalid-endpoint', detail });
  const urlIssue = rules.checkUrl(url);
  if (urlIssue !== null) refuse('/url', urlIssue);
  for (const [index, type] of types.entries())
    issues.push(...catchIssues(`/types/${index}`, () => requireEventTypes([type])));
  if (filter !== null) issues.push(...catchIssues('/filter', () => validateEventFilter(filter)));
  const { headers, lost } = withKept(body.headers ?? {}, before, urlIssue === null && url);
  for (const name of lost) {
    refuse(`/headers/${escaped(name)}`, 'needs its value: it is kept only while the URL has the same origin');
  }
  for (const { name, detail } of headerIssues(headers)) {
    refuse(name === null ? '/headers' : `/headers/${escaped(name)}`, detail);
  }
  for (const [name, value] of Object.entries(headers)) {
    const isNew = before?.headers[name.toLowerCase()] !== value;
    const issue = isNew ? (rules.headerIssue?.(name) ?? null) : null;
    if (issue !== null) refuse(`/headers/${escaped(name)}`, issue);
  }
  if (JSON.stringify(body).length > MAX_CHARACTERS) refuse('', `It has more than ${MAX_CHARACTERS} characters`);
  const [first] = issues;
  if (first !== undefined) {
    const message = `The endpoint is invalid: ${first.pointer || '/'} ${first.detail}`;
    throw new MillraceError('invalid-endpoint', message, { issues });
  }
  const { name = null, ratePerSecond = null, ordering = 'none', retrySchedule = 'standard', enabled = true } = body;
  return {
    written: { name, url, types, filter, ratePerSecond, ordering, retrySchedule, enabled },
    headers: Object.fromEntries(Object.entries(headers).map(([one, value]) => [one.toLowerCase(), value])),
  };
}

/** The headers with stored values filled in, and the names of those whose value is missing. */
function withKept(sent: CustomHeaders, before: Before | null, url: string | false) {
  const stays = before !== null && url !== false && new URL(url).origin === new URL(before.written.url).origin;
  const headers: Record<string, string> = {};
  const lost: string[] = [];
  for (const [name, value] of Object.entries(sent)) {
    const kept = stays && Object.hasOwn(before.headers, name) ? before.headers[name] : undefined;
    if (value !== MASKED_HEADER_VALUE) headers[name] = value;
    else if (kept !== undefined) headers[name] = kept;
    // An invalid URL has no known origin.
    else if (url !== false) lost.push(name);
  }
  return { headers, lost };
}

/** The patch with header names spelled as stored. */
function lowerHeaders(patch: Record<string, unknown>): Record<string, unknown> {
  const { headers } = patch;
  if (!isPlainObject(headers)) return patch;
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return { ...patch, headers: Object.fromEntries(lower) };
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
