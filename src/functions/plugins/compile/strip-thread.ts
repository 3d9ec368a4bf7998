/**
 * A thread that strips TypeScript types, keeping lines and columns. A separate thread, because crafted source can keep
 * the parser busy for long, or exhaust its stack, after which it cannot parse anything.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { transformSync } from 'amaro';
import { isPlainObject } from '../../../lib/plain-object.ts';

const sources: unknown = workerData;
if (Array.isArray(sources)) for (const [path, text] of sources) if (!reported(path, text)) break;

/** @returns whether the parser is still usable */
function reported(path: string, text: string): boolean {
  try {
    const { code } = transformSync(text, { mode: 'strip-only', filename: path });
    parentPort?.postMessage({ path, code });
    return true;
  } catch (error) {
    // The parser throws a plain object for an error in the source, and an Error when it is broken.
    const { message, startLine, startColumn } = isPlainObject(error) ? error : {};
    const issue =
      message === undefined
        ? { message: 'cannot be parsed: it is probably nested too deeply' }
        : { message, line: startLine, column: startColumn };
    parentPort?.postMessage({ path, ...issue });
    return message !== undefined;
  }
}
