/**
 * Reads a manifest: its schema, and the rules that a schema cannot express. Every fault has its place. Pure. Not here: the
 * scripts that it names (compile/).
 */
import { isCollectionName } from '../../../database/names.ts';
import { requireFilter } from '../../../events/read/wanted-events.ts';
import { requireTypes } from '../../../events/read/wanted-types.ts';
import { type Fault, faultsAt, MillraceError } from '../../../kernel/errors.ts';
import { checked } from '../../../kernel/parse-body.ts';
import type { FunctionKind } from '../../sandbox/sandbox.ts';
import { cronFault, timeZoneFault } from './cron.ts';
import { hostFault } from './fetch-hosts.ts';
import { EVERY_COLLECTION, MANIFEST, type Manifest, type ManifestFunction, METHODS, MOST_MS } from './manifest.ts';
import type { ManifestFault } from './plugin-fault.ts';
import { pathFault, routesOf } from './routes.ts';

/** The member of a manifest that makes a function one of a kind. */
export const KINDS = { http: 'endpoint', on: 'trigger', cron: 'cron', before: 'before', job: 'job' } as const;
/** Words of addresses and of the program itself, which would mislead as the name of a plugin or a function. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['admin', 'api', 'constructor', 'events', 'examples', 'files', 'functions', 'jobs', 'live', 'millrace', 'plugins'],
  ...['prototype', 'runs', 'secrets', 'system', 'try', 'versions', 'webhooks'],
]);

type Refuse = (pointer: string, message: string) => void;

/** The kind of a function; null where it does not have exactly one. */
export function functionKind(fn: ManifestFunction): FunctionKind | null {
  const [only, ...more] = Object.entries(KINDS).filter(([member]) => Object.hasOwn(fn, member));
  return only === undefined || more.length > 0 ? null : only[1];
}

/**
 * @param written what stands in `plugin.json`
 * @param name the name that the plugin has by its address or its folder
 * @returns the manifest, or everything that is wrong with it
 */
export async function readManifest(
  written: unknown,
  name: string,
): Promise<{ readonly manifest: Manifest } | { readonly faults: readonly ManifestFault[] }> {
  let manifest: Manifest;
  try {
    manifest = checked(MANIFEST, written ?? null);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return { faults: inWords(error.faults) };
  }
  const faults: ManifestFault[] = [];
  const refuse: Refuse = (pointer, message) => faults.push({ pointer, message });
  if (manifest.name !== name) refuse('/name', `must be '${name}', as the address and the folder of the plugin say`);
  if (RESERVED.has(manifest.name)) refuse('/name', `'${manifest.name}' is reserved`);
  for (const [index, host] of (manifest.fetch ?? []).entries()) {
    const fault = hostFault(host);
    if (fault !== null) refuse(`/fetch/${index}`, fault);
  }
  for (const [index, fn] of manifest.functions.entries()) {
    const at = `/functions/${index}`;
    const earlier = manifest.functions.slice(0, index);
    if (earlier.some((one) => one.name === fn.name)) refuse(`${at}/name`, `'${fn.name}' is there twice`);
    if (RESERVED.has(fn.name)) refuse(`${at}/name`, `'${fn.name}' is reserved`);
    const kind = functionKind(fn);
    if (kind === null) refuse(at, `must have exactly one of ${Object.keys(KINDS).join(', ')}`);
    else await checkFunction(fn, kind, (pointer, message) => refuse(at + pointer, message));
    const taken = routesOf(fn).find((route) => earlier.flatMap(routesOf).includes(route));
    const other = earlier.find((one) => taken !== undefined && routesOf(one).includes(taken));
    if (other !== undefined) refuse(`${at}/http`, `'${fn.name}' and '${other.name}' both answer ${taken}`);
  }
  return faults.length > 0 ? { faults } : { manifest };
}

/** What the schema has found, in words for an author: one fault for each place, and no patterns. */
function inWords(faults: readonly Fault[]): readonly ManifestFault[] {
  const places = new Map<string, string>();
  for (const { pointer, detail } of faults) if (!places.has(pointer)) places.set(pointer, wordsOf(pointer, detail));
  return [...places].map(([pointer, message]) => ({ pointer, message }));
}

function wordsOf(pointer: string, detail: string): string {
  // Whether it is one or a list, the schema tells what is wrong with it as the other one, too.
  if (pointer.endsWith('/http/method')) return `must be one of ${METHODS.join(', ')}, or a list of some of them`;
  if (!detail.startsWith('must match pattern')) return detail;
  return pointer.startsWith('/secrets/')
    ? 'must be of capital letters, digits and _, and begin with a letter'
    : 'must be of small letters, digits and single hyphens, and begin with a letter';
}

async function checkFunction(fn: ManifestFunction, kind: FunctionKind, refuse: Refuse): Promise<void> {
  const { http, on = [], filter, cron, timeZone, before, as, roles = [], timeoutMs = 1 } = fn;
  const mayBeCaller = kind === 'endpoint' || kind === 'before';
  if (timeoutMs > MOST_MS[kind]) refuse('/timeoutMs', `must be at most ${MOST_MS[kind]} for this kind`);
  if (as === 'caller' && !mayBeCaller)
    refuse('/as', 'nobody calls it: only an endpoint and a before can act as caller');
  if (roles.length > 0 && (as ?? (mayBeCaller ? 'caller' : 'function')) === 'caller') {
    refuse('/roles', 'has no effect where the function acts as caller. Give it "as": "function"');
  }
  if (filter !== undefined && kind !== 'trigger') refuse('/filter', 'belongs to a trigger');
  if (timeZone !== undefined && kind !== 'cron') refuse('/timeZone', 'belongs to a cron');
  for (const member of ['authorization', 'largeNumbers'] as const) {
    if (fn[member] !== undefined && kind !== 'endpoint') refuse(`/${member}`, 'belongs to an endpoint');
  }
  if (http !== undefined) {
    const fault = pathFault(http.path);
    if (fault !== null) refuse('/http/path', fault);
  }
  const refuseAll = (found: readonly Fault[]) => {
    for (const { pointer, detail } of found) refuse(pointer, detail);
  };
  for (const [index, type] of on.entries()) refuseAll(faultsAt(`/on/${index}`, () => requireTypes([type])));
  if (filter !== undefined && kind === 'trigger') refuseAll(faultsAt('/filter', () => requireFilter(filter)));
  const inZone = timeZone === undefined ? null : timeZoneFault(timeZone);
  if (inZone !== null) refuse('/timeZone', inZone);
  const inCron = cron === undefined ? null : await cronFault(cron);
  if (inCron !== null) refuse('/cron', inCron);
  for (const [index, name] of (before?.collections ?? []).entries()) {
    if (name !== EVERY_COLLECTION && !isCollectionName(name))
      refuse(`/before/collections/${index}`, `'${name}' is not a name for a collection`);
  }
}
