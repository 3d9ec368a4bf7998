/** The paths of HTTP functions below `/fn`: which are valid, and when two of them match the same requests. Pure. */
import type { ManifestFunction } from './manifest.ts';

const MAX_STEPS = 16;
const PARAMETER = /^:[A-Za-z][A-Za-z0-9_]{0,39}$/;
/** Characters that a URL path may have without an escape. */
const STEP = /^[A-Za-z0-9._~-]+$/;

/** The error in the path of an HTTP function, as a sentence without its subject; null if valid. */
export function endpointPathIssue(path: string): string | null {
  const [before, ...steps] = path.split('/');
  if (before !== '' || steps.length > MAX_STEPS) return `must start with / and have at most ${MAX_STEPS} parts`;
  for (const step of steps) {
    if (step === '.' || step === '..') return 'must not have . or .. as a segment';
    if (!STEP.test(step) && !PARAMETER.test(step)) {
      return `has the segment '${step}': a segment has letters, digits and . _ ~ -, or : and the name of a parameter`;
    }
  }
  const parameters = steps.filter((step) => step.startsWith(':'));
  return new Set(parameters).size === parameters.length ? null : 'has two parameters with the same name';
}

/** The methods of an HTTP function. */
export function httpMethodsOf({ http }: Pick<ManifestFunction, 'http'>): readonly string[] {
  if (http === undefined) return [];
  return typeof http.method === 'string' ? [http.method] : http.method;
}

/** The routes of an HTTP function, as `POST /fn/invoice/:/total`: functions with a common text conflict. */
export function routePatternsOf(fn: Pick<ManifestFunction, 'http'>): readonly string[] {
  const path = (fn.http?.path ?? '').replace(/:\w+/g, ':');
  return httpMethodsOf(fn).map((one) => `${one} /fn${path}`);
}
