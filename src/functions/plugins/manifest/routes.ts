/**
 * The paths of endpoints below `/fn`: which are possible, and when two of them answer the same requests. Pure. Not here:
 * finding the endpoint of a request (kinds/endpoints).
 */
import type { ManifestFunction } from './manifest.ts';

const MAX_STEPS = 16;
const PARAMETER = /^:[A-Za-z][A-Za-z0-9_]{0,39}$/;
/** Characters that an address has without an escape. */
const STEP = /^[A-Za-z0-9._~-]+$/;

/** What is wrong with the path of an endpoint, as a sentence without its subject; null for nothing. */
export function pathFault(path: string): string | null {
  const [before, ...steps] = path.split('/');
  if (before !== '' || steps.length > MAX_STEPS) return `must begin with / and have at most ${MAX_STEPS} parts`;
  for (const step of steps) {
    if (step === '.' || step === '..') return 'must not have . or .. as a part';
    if (!STEP.test(step) && !PARAMETER.test(step)) {
      return `has the part '${step}': a part is letters, digits and . _ ~ -, or : and the name of a parameter`;
    }
  }
  const parameters = steps.filter((step) => step.startsWith(':'));
  return new Set(parameters).size === parameters.length ? null : 'has two parameters of one name';
}

/** The methods of an endpoint. */
export function methodsOf({ http }: Pick<ManifestFunction, 'http'>): readonly string[] {
  if (http === undefined) return [];
  return typeof http.method === 'string' ? [http.method] : http.method;
}

/** What an endpoint answers, as `POST /fn/invoice/:/total`: two with a common text answer the same requests. */
export function routesOf(fn: Pick<ManifestFunction, 'http'>): readonly string[] {
  const path = (fn.http?.path ?? '').replace(/:\w+/g, ':');
  return methodsOf(fn).map((one) => `${one} /fn${path}`);
}
