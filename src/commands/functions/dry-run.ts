/**
 * `millrace functions dry-run`: calls one function once and takes back what it has written. Shows what it returned, logged and
 * did.
 */
import Type, { type Static } from 'typebox';
import { isPlainObject } from '../../lib/plain-object.ts';
import { stripControlChars } from '../../lib/strip-control-chars.ts';
import type { RemoteServer } from '../remote/remote.ts';
import { explainPushError, readPluginFolder } from './push.ts';

const nullableText = Type.Union([Type.Null(), Type.String()]);
const TRIED = Type.Object({
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(
    Type.Union([Type.Null(), Type.Object({ code: Type.String(), message: Type.String(), stack: nullableText })]),
  ),
  logs: Type.Array(Type.Object({ level: Type.String(), text: Type.String() })),
  operations: Type.Array(
    Type.Object({
      operation: Type.String(),
      target: Type.String(),
      durationMs: Type.Number(),
      error: nullableText,
    }),
  ),
  durationMs: Type.Number(),
});

const STORED = Type.Object({
  manifest: Type.Union([
    Type.Null(),
    Type.Object({
      functions: Type.Array(Type.Object({ name: Type.String(), http: Type.Optional(Type.Unknown()) })),
    }),
  ]),
});

/** The default input of an HTTP function. */
const EMPTY_REQUEST = { method: 'GET', path: '/', params: {}, query: {}, headers: {}, body: null, text: null };

export interface DryRunRequest {
  readonly plugin: string;
  readonly fn: string;
  /** Undefined for none. */
  readonly input: unknown;
  /** The principal to call it as; undefined for the caller's own. */
  readonly principal: object | undefined;
  /** The folder whose code is called; null for the active version. */
  readonly draft: string | null;
}

/** @returns false if the function failed */
export async function dryRunFunction(
  { plugin, fn, input, principal, draft }: DryRunRequest,
  remote: RemoteServer,
): Promise<boolean> {
  const path = `/admin/plugins/${encodeURIComponent(plugin)}`;
  const sent = draft === null ? null : await readPluginFolder(draft, plugin);
  const { manifest } = sent ?? (await remote.request(STORED, 'GET', path));
  const isEndpoint = manifest?.functions.some(({ name, http }) => name === fn && http !== undefined) ?? false;
  const body = {
    function: fn,
    input:
      isEndpoint && (input === undefined || isPlainObject(input)) ? { ...EMPTY_REQUEST, ...input } : (input ?? null),
    ...(principal && { principal }),
    ...sent,
  };
  const tried = await remote.request(TRIED, 'POST', `${path}/dry-run`, body).catch((error: unknown) => {
    throw draft === null ? error : explainPushError(error, draft, plugin);
  });
  for (const line of linesOf(tried)) console.log(line);
  return tried.error == null;
}

function linesOf({ result, error, logs, operations, durationMs }: Static<typeof TRIED>): readonly string[] {
  const logged = logs.map(({ level, text }) => `  ${level.padEnd(5)}  ${stripControlChars(text)}`);
  const done = operations.map(({ operation, target, durationMs: ms, error: code }) => {
    return stripControlChars(
      `  ${operation.padEnd(17)}  ${target}  ${ms.toFixed(1)} ms${code === null ? '' : `  ${code}`}`,
    );
  });
  const end =
    error == null
      ? [
          'Result',
          ...JSON.stringify(result ?? null, null, 2)
            .split('\n')
            .map((line) => `  ${line}`),
        ]
      : [
          `Failed: ${error.code}`,
          ...(error.stack ?? error.message).split('\n').map((line) => `  ${stripControlChars(line)}`),
        ];
  return [
    ...(logged.length > 0 ? ['Log', ...logged] : []),
    ...(done.length > 0 ? ['Operations (rolled back)', ...done] : []),
    ...end,
    `${Math.round(durationMs)} ms`,
  ];
}
