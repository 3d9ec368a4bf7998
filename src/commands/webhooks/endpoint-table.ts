/**
 * `millrace webhooks endpoints`: all endpoints with their health, as a table.
 */
import Type, { type Static } from 'typebox';
import { stripControlChars } from '../../lib/strip-control-chars.ts';
import type { RemoteServer } from '../remote/remote.ts';

const nullableText = Type.Union([Type.String(), Type.Null()]);
const ENDPOINTS = Type.Array(
  Type.Object({
    id: Type.String(),
    url: Type.String(),
    name: nullableText,
    types: Type.Array(Type.String()),
    enabled: Type.Boolean(),
    disabledReason: nullableText,
    health: Type.Object({
      breaker: Type.String(),
      pending: Type.Number(),
      lastSuccessAt: nullableText,
      failingSince: nullableText,
      error: nullableText,
    }),
  }),
);

const HEAD = ['ID', 'STATE', 'PENDING', 'LAST SUCCESS', 'FAILING SINCE', 'TYPES', 'URL', 'NAME'];

/** @returns the table as text */
export async function endpointTable(remote: RemoteServer): Promise<string> {
  const endpoints = await remote.request(ENDPOINTS, 'GET', '/webhooks/endpoints');
  if (endpoints.length === 0) return 'No endpoints';
  return columns([HEAD, ...endpoints.map(cellsOf)]);
}

function cellsOf(endpoint: Static<typeof ENDPOINTS>[number]): string[] {
  const { id, url, name, types, health } = endpoint;
  const cells = [
    id,
    stateOf(endpoint),
    String(health.pending),
    timeOf(health.lastSuccessAt),
    timeOf(health.failingSince),
    types.join(','),
    url,
    name ?? '',
  ];
  return cells.map(stripControlChars);
}

function stateOf({ enabled, disabledReason, health }: Static<typeof ENDPOINTS>[number]): string {
  if (!enabled) return `disabled (${disabledReason})`;
  if (health.error !== null) return `rejected: ${health.error}`;
  return health.breaker === 'closed' ? 'enabled' : `breaker ${health.breaker}`;
}

/** To the second, in UTC, as in responses. */
function timeOf(text: string | null): string {
  return text === null ? '-' : text.replace(/\.\d+Z$/, 'Z');
}

function columns(rows: readonly (readonly string[])[]): string {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}
