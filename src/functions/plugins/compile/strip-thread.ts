/**
 * A thread that takes the types out of TypeScript, so that lines and columns stay. It is a thread of its own because a source
 * can be made to keep the parser busy for long, or to exhaust its stack, after which it parses nothing any more. Not here: who
 * starts and ends it (strip.ts).
 */
import { parentPort, workerData } from 'node:worker_threads';
import { transformSync } from 'amaro';
import { isPlain } from '../../../kernel/objects.ts';

const sources: unknown = workerData;
if (Array.isArray(sources)) for (const [path, text] of sources) if (!told(path, text)) break;

/** @returns whether the parser can go on */
function told(path: string, text: string): boolean {
  try {
    const { code } = transformSync(text, { mode: 'strip-only', filename: path });
    parentPort?.postMessage({ path, code });
    return true;
  } catch (error) {
    // What it says of a source is a plain object, and what ends it an Error.
    const { message, startLine, startColumn } = isPlain(error) ? error : {};
    const fault =
      message === undefined
        ? { message: 'cannot be parsed: it may be nested too deeply' }
        : { message, line: startLine, column: startColumn };
    parentPort?.postMessage({ path, ...fault });
    return message !== undefined;
  }
}
