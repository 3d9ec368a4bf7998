/** An endpoint as form values, and as request body. Pure. */
import type { Endpoint } from '../parts/webhook-api-types.ts';

export interface OwnHeader {
  /** Distinguishes the rows of the form. */
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
  readonly retrySchedule: string;
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
    retrySchedule: endpoint?.retrySchedule ?? 'standard',
    ordering: endpoint?.ordering ?? 'none',
    rate: endpoint?.ratePerSecond ?? '',
  };
}

/** @throws SyntaxError the filter is not JSON */
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
 * A merge patch of the changes, so that concurrent changes of other fields stay.
 * @throws SyntaxError the filter is not JSON
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

function bodyOf({ url, types, name, filter, headers, retrySchedule, ordering, rate }: FormValues) {
  return {
    url: url.trim(),
    types,
    name: name === '' ? null : name,
    filter: filter.trim() === '' ? null : (JSON.parse(filter) as unknown),
    headers: Object.fromEntries(
      headers.filter(({ name: field }) => field !== '').map(({ name: field, value }) => [field.toLowerCase(), value]),
    ),
    retrySchedule,
    ordering,
    ratePerSecond: rate === '' ? null : Number(rate),
  };
}
