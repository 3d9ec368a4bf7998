/**
 * Log lines for a person at a terminal, in development mode: one short line per request, and a second one with the
 * reason for an error or a hint; problems with their message. Production writes pino's JSON lines instead.
 */
import type { Writable } from 'node:stream';

interface Line {
  level: number;
  /** The number of the process, if several share the port. */
  worker?: number;
  msg?: string;
  method?: string;
  path?: string;
  status?: number;
  ms?: number;
  query?: string;
  code?: string;
  detail?: string;
  hint?: string;
  err?: { stack?: string; message?: string };
}

const WARN = 40;
/** The start of the log line with the server's URL. */
export const LISTENING_PREFIX = 'Listening at ';

/** A destination for pino that writes readable lines to `out`. */
export function consoleLogStream(out: Pick<Writable, 'write'>): { write(line: string): void } {
  return {
    write: (text) => {
      const line: Line = JSON.parse(text);
      // Left out: the summary at startup shows the URL better.
      if (line.msg?.startsWith(LISTENING_PREFIX)) return;
      out.write(`${line.worker === undefined ? '' : `[${line.worker}] `}${describe(line)}\n`);
    },
  };
}

function describe(line: Line): string {
  if (line.status !== undefined) {
    const query = line.query === undefined ? '' : `?${line.query}`;
    const requested = `${(line.method ?? '').padEnd(6)} ${line.path ?? ''}${query}`;
    const refused = line.code === undefined ? [] : [`${line.code}: ${line.detail ?? ''}`];
    const reported = [...refused, ...(line.hint === undefined ? [] : [line.hint])].join('. ');
    const why = reported === '' ? '' : `\n     ${reported}`;
    return harmless(`${String(line.status)}  ${requested}  ${line.ms ?? 0} ms${why}`);
  }
  const mark = line.level >= WARN ? '! ' : '';
  const cause = line.err === undefined ? '' : `\n${line.err.stack ?? line.err.message ?? ''}`;
  return `${mark}${line.msg ?? ''}${cause}`;
}

/** Text from a client must not move the terminal's cursor or change its colors. */
function harmless(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, '?');
}
