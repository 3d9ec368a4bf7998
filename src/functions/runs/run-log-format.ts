/**
 * Log lines and outcomes of runs as text for a terminal: of the server in development mode, and of `millrace functions logs`.
 * Pure.
 */
import { stripControlChars } from '../../lib/strip-control-chars.ts';
import type { LogLine } from '../sandbox/sandbox.ts';
import type { Run } from './run.ts';

type Name = Pick<Run, 'plugin' | 'function'>;

/** A line that a run has logged; several if it contains line breaks. */
export function formatLogLines(run: Name, { level, text }: Pick<LogLine, 'level' | 'text'>): readonly string[] {
  return text.split('\n').map((part) => `${head(run)}${level.padEnd(10)}${stripControlChars(part)}`.trimEnd());
}

/** How an attempt has ended; nothing for a run that has only started or is pending. */
export function formatRunEnd(
  run: Name & Pick<Run, 'id' | 'attempts' | 'durationMs' | 'error'> & { readonly state: string },
): readonly string[] {
  const { id, state, attempts, durationMs, error } = run;
  if (state === 'running' || (state === 'pending' && error === null)) return [];
  const took = durationMs === null ? '' : `${Math.round(durationMs)} ms`;
  if (error === null) return [`${head(run)}${state.padEnd(10)}${took}`.trimEnd()];
  const again = state === 'pending' ? ` (attempt ${attempts}; it is tried again)` : '';
  const end = `${(state === 'pending' ? 'failed' : state).padEnd(10)}${stripControlChars(error.message)}${again}`;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return [`${head(run)}${end}  [${error.code}, ${id}]`, ...frames.map(stripControlChars)];
}

function head({ plugin, function: name }: Name): string {
  return stripControlChars(`${`${plugin}/${name}`.padEnd(20)}  `);
}
