/** An endpoint as its form holds it, and as it is sent. Pure. */
import type { Endpoint } from '../parts/answers.ts';

export interface OwnHeader {
  /** Tells the rows of the form apart. */
  readonly key: number;
  readonly name: string;
  readonly value: string;
}

export interface FormValues {
  readonly url: string;
  readonly types: string[];
  readonly name: string;
  /** JSON, or empty. */
  readonly filter: string;
  readonly headers: readonly OwnHeader[];
  readonly schedule: string;
  readonly ordering: string;
  /** Empty for no limit. */
  readonly rate: number | string;
}

export function valuesOf(endpoint: Endpoint | undefined): FormValues {
  return {
    url: endpoint?.url ?? '',
    types: [...(endpoint?.types ?? [])],
    name: endpoint?.name ?? '',
    filter: endpoint === undefined || endpoint.filter === null ? '' : JSON.stringify(endpoint.filter, null, 2),
    headers: Object.entries(endpoint?.headers ?? {}).map(([name, value], key) => ({ key, name, value })),
    schedule: endpoint?.schedule ?? 'standard',
    ordering: endpoint?.ordering ?? 'none',
    rate: endpoint?.ratePerSecond ?? '',
  };
}

/** @throws SyntaxError the filter is no JSON */
export function newBody(values: FormValues): object {
  const { name, filter, ratePerSecond, ...rest } = bodyOf(values);
  return {
    ...rest,
    ...(name === null ? {} : { name }),
    ...(filter === null ? {} : { filter }),
    ...(ratePerSecond === null ? {} : { ratePerSecond }),
  };
}

/**
 * A merge patch of what was changed, so that what somebody else has changed meanwhile stays.
 * @throws SyntaxError the filter is no JSON
 */
export function changesOf(endpoint: Endpoint, values: FormValues): object {
  const [before, after] = [bodyOf(valuesOf(endpoint)), bodyOf(values)];
  const removed = Object.keys(before.headers).filter((name) => !(name in after.headers));
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(before, name)),
  );
  return Object.fromEntries(
    changed.map(([name, value]) => [
      name,
      name === 'headers' ? { ...after.headers, ...Object.fromEntries(removed.map((one) => [one, null])) } : value,
    ]),
  );
}

function bodyOf({ url, types, name, filter, headers, schedule, ordering, rate }: FormValues) {
  return {
    url: url.trim(),
    types,
    name: name === '' ? null : name,
    filter: filter.trim() === '' ? null : (JSON.parse(filter) as unknown),
    headers: Object.fromEntries(
      headers.filter(({ name: field }) => field !== '').map(({ name: field, value }) => [field.toLowerCase(), value]),
    ),
    schedule,
    ordering,
    ratePerSecond: rate === '' ? null : Number(rate),
  };
}
