/**
 * What a run logs and how it ends, as lines for a person at a terminal: that of the server in development mode, and that of
 * `millrace functions logs`. Pure.
 */
import { printable } from '../../kernel/printable.ts';
import type { LogLine } from '../sandbox/sandbox.ts';
import type { Run } from './run.ts';

type Name = Pick<Run, 'plugin' | 'function'>;

/** A line that a run has logged; several where it has several. */
export function logLines(run: Name, { level, text }: Pick<LogLine, 'level' | 'text'>): readonly string[] {
  return text.split('\n').map((part) => `${head(run)}${level.padEnd(8)}${printable(part)}`.trimEnd());
}

/** How an attempt has ended; nothing for a run that has only begun, or waits for its turn. */
export function endLines(
  run: Name & Pick<Run, 'id' | 'attempt' | 'durationMs' | 'error'> & { readonly state: string },
): readonly string[] {
  const { id, state, attempt, durationMs, error } = run;
  if (state === 'running' || (state === 'waiting' && error === null)) return [];
  const took = durationMs === null ? '' : `${Math.round(durationMs)} ms`;
  if (error === null) return [`${head(run)}${state.padEnd(8)}${took}`.trimEnd()];
  const again = state === 'waiting' ? ` (attempt ${attempt}; it is tried again)` : '';
  const end = `${(state === 'waiting' ? 'failed' : state).padEnd(8)}${printable(error.message)}${again}`;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return [`${head(run)}${end}  [${error.code}, ${id}]`, ...frames.map(printable)];
}

function head({ plugin, function: name }: Name): string {
  return printable(`${`${plugin}/${name}`.padEnd(20)}  `);
}
