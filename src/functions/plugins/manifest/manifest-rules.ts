/** Reads a manifest: its schema, and the rules that a schema cannot express. Every error has a JSON Pointer. Pure. */
import { isIP } from 'node:net';
import { isCollectionName } from '../../../database/parse-collection-name.ts';
import { validateEventFilter } from '../../../events/read/event-filter.ts';
import { requireEventTypes } from '../../../events/read/type-patterns.ts';
import { catchIssues, type Issue, MillraceError } from '../../../lib/errors.ts';
import { validateBody } from '../../../lib/parse-body.ts';
import type { FunctionKind } from '../../sandbox/sandbox.ts';
import { cronIssue, timeZoneIssue } from './cron.ts';
import { endpointPathIssue, routePatternsOf } from './endpoint-paths.ts';
import {
  EVERY_COLLECTION,
  HTTP_METHODS,
  MANIFEST_SCHEMA,
  MAX_RUN_MS,
  type Manifest,
  type ManifestFunction,
} from './manifest.ts';
import type { ManifestDiagnostic } from './plugin-error.ts';

/** The field of a manifest that selects the kind of a function. */
export const FUNCTION_KIND_BY_FIELD = {
  http: 'http',
  on: 'trigger',
  cron: 'cron',
  beforeWrite: 'beforeWrite',
  job: 'job',
} as const;
/** Words of URLs and of the CLI, which would mislead as the name of a plugin or a function. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['admin', 'api', 'constructor', 'events', 'examples', 'files', 'functions', 'jobs', 'live', 'millrace', 'plugins'],
  ...['prototype', 'runs', 'secrets', 'system', 'try', 'versions', 'webhooks'],
]);

type Refuse = (pointer: string, message: string) => void;

/** The kind of a function; null if it does not have exactly one. */
export function functionKind(fn: ManifestFunction): FunctionKind | null {
  const [only, ...more] = Object.entries(FUNCTION_KIND_BY_FIELD).filter(([field]) => Object.hasOwn(fn, field));
  return only === undefined || more.length > 0 ? null : only[1];
}

/**
 * @param written the content of `plugin.json`
 * @param name the name that the plugin has by its URL or its folder
 * @returns the manifest, or all errors
 */
export async function readManifest(
  written: unknown,
  name: string,
): Promise<{ readonly manifest: Manifest } | { readonly diagnostics: readonly ManifestDiagnostic[] }> {
  let manifest: Manifest;
  try {
    manifest = validateBody(MANIFEST_SCHEMA, written ?? null);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return { diagnostics: inWords(error.issues) };
  }
  const diagnostics: ManifestDiagnostic[] = [];
  const refuse: Refuse = (pointer, message) => diagnostics.push({ pointer, message });
  if (manifest.name !== name) refuse('/name', `must be '${name}', like the URL and the folder of the plugin`);
  if (RESERVED.has(manifest.name)) refuse('/name', `'${manifest.name}' is reserved`);
  for (const [index, host] of (manifest.fetch ?? []).entries()) {
    const diagnostic = invalidFetchHostReason(host);
    if (diagnostic !== null) refuse(`/fetch/${index}`, diagnostic);
  }
  for (const [index, fn] of manifest.functions.entries()) {
    const at = `/functions/${index}`;
    const earlier = manifest.functions.slice(0, index);
    if (earlier.some((one) => one.name === fn.name)) refuse(`${at}/name`, `'${fn.name}' occurs twice`);
    if (RESERVED.has(fn.name)) refuse(`${at}/name`, `'${fn.name}' is reserved`);
    const kind = functionKind(fn);
    if (kind === null) refuse(at, `must have exactly one of ${Object.keys(FUNCTION_KIND_BY_FIELD).join(', ')}`);
    else await checkFunction(fn, kind, (pointer, message) => refuse(at + pointer, message));
    const taken = routePatternsOf(fn).find((route) => earlier.flatMap(routePatternsOf).includes(route));
    const other = earlier.find((one) => taken !== undefined && routePatternsOf(one).includes(taken));
    if (other !== undefined) refuse(`${at}/http`, `'${fn.name}' and '${other.name}' both serve ${taken}`);
  }
  return diagnostics.length > 0 ? { diagnostics } : { manifest };
}

/** Schema errors in words for an author: one for each location, without patterns. */
function inWords(diagnostics: readonly Issue[]): readonly ManifestDiagnostic[] {
  const folders = new Map<string, string>();
  for (const { pointer, detail } of diagnostics)
    if (!folders.has(pointer)) folders.set(pointer, wordsOf(pointer, detail));
  return [...folders].map(([pointer, message]) => ({ pointer, message }));
}

function wordsOf(pointer: string, detail: string): string {
  // For a union of one and a list, the schema also reports the errors of the other branch.
  if (pointer.endsWith('/http/method')) return `must be one of ${HTTP_METHODS.join(', ')}, or a list of some of them`;
  if (!detail.startsWith('must match pattern')) return detail;
  return pointer.startsWith('/secrets/')
    ? 'must consist of uppercase letters, digits and _, and start with a letter'
    : 'must consist of lowercase letters, digits and single hyphens, and start with a letter';
}

async function checkFunction(fn: ManifestFunction, kind: FunctionKind, refuse: Refuse): Promise<void> {
  const { http, on = [], filter, cron, timeZone, beforeWrite, as, roles = [], timeoutMs = 1 } = fn;
  const mayBeCaller = kind === 'http' || kind === 'beforeWrite';
  if (timeoutMs > MAX_RUN_MS[kind]) refuse('/timeoutMs', `must be at most ${MAX_RUN_MS[kind]} for this kind`);
  if (as === 'caller' && !mayBeCaller)
    refuse('/as', 'it has no caller: only HTTP functions and write hooks can run as the caller');
  if (roles.length > 0 && (as ?? (mayBeCaller ? 'caller' : 'function')) === 'caller') {
    refuse('/roles', 'has no effect where the function acts as caller. Set "as": "function"');
  }
  if (filter !== undefined && kind !== 'trigger') refuse('/filter', 'belongs to a trigger');
  if (timeZone !== undefined && kind !== 'cron') refuse('/timeZone', 'belongs to a cron job');
  for (const field of ['authorization', 'largeNumbers'] as const) {
    if (fn[field] !== undefined && kind !== 'http') refuse(`/${field}`, 'belongs to an HTTP function');
  }
  if (http !== undefined) {
    const diagnostic = endpointPathIssue(http.path);
    if (diagnostic !== null) refuse('/http/path', diagnostic);
  }
  const refuseAll = (found: readonly Issue[]) => {
    for (const { pointer, detail } of found) refuse(pointer, detail);
  };
  for (const [index, type] of on.entries()) refuseAll(catchIssues(`/on/${index}`, () => requireEventTypes([type])));
  if (filter !== undefined && kind === 'trigger') refuseAll(catchIssues('/filter', () => validateEventFilter(filter)));
  const inZone = timeZone === undefined ? null : timeZoneIssue(timeZone);
  if (inZone !== null) refuse('/timeZone', inZone);
  const inCron = cron === undefined ? null : await cronIssue(cron);
  if (inCron !== null) refuse('/cron', inCron);
  for (const [index, name] of (beforeWrite?.collections ?? []).entries()) {
    if (name !== EVERY_COLLECTION && !isCollectionName(name))
      refuse(`/beforeWrite/collections/${index}`, `'${name}' is not a valid collection name`);
  }
}

const FORM = /^(\*\.)?([a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::([1-9]\d{0,4}))?$/;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The error in a host, as a sentence without its subject; null if valid. */
export function invalidFetchHostReason(host: string): string | null {
  const [, star, name = '', port = '443'] = FORM.exec(host) ?? [];
  if (name === '' || name.length > 253 || Number(port) > 65_535 || !name.split('.').every((one) => LABEL.test(one))) {
    return 'must be a host in lowercase, such as api.example.com, *.example.org or example.org:8443';
  }
  if (star === undefined) {
    // 1.2.3 and 0x7f.1 are other spellings of IP addresses.
    const isNumeric = /^(?:\d+|0x[0-9a-f]*)$/.test(name.slice(name.lastIndexOf('.') + 1));
    return isNumeric && isIP(name) !== 4 ? 'must be a host name or an IPv4 address' : null;
  }
  return name.includes('.') && isIP(name) === 0 ? null : 'must have at least two labels after the star';
}
