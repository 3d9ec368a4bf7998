/** JSON typed by the user: its value, and where it is invalid. */
import type { CodeError } from './code-mirror.tsx';

/** @throws SyntaxError */
export function parseJson(text: string): unknown {
  return JSON.parse(text);
}

/** The first error of a text; null for valid JSON. */
export function issueOfJson(text: string): CodeError | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // Browsers report the position in different words; without one the end is the best guess.
    const position = Number(/position (\d+)/.exec(message)?.[1] ?? text.length);
    const before = text.slice(0, position).split('\n');
    return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, message: 'Not valid JSON here' };
  }
}
