/**
 * The commands of the program besides serving: `millrace admin`, `signing-keys`, `files`, `webhooks` and `functions`. They are
 * part of the program, because images and packages have no scripts.
 */
import type { Environment } from '../config/config.ts';
import { MillraceError } from '../lib/errors.ts';

/** The result of a command. */
export interface CommandOutcome {
  /** The text to print at its end; absent if it has printed everything. */
  readonly text?: string;
  readonly failed?: boolean;
}

type Command = (words: readonly string[], env: Environment) => Promise<CommandOutcome>;

/** Loaded on demand. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map<string, () => Promise<Command>>([
  ['admin', async () => (await import('./admin.ts')).admin],
  ['signing-keys', async () => (await import('./signing-keys.ts')).signingKeys],
  ['files', async () => (await import('./files.ts')).files],
  ['webhooks', async () => (await import('./webhooks.ts')).webhooks],
  ['functions', async () => (await import('./functions.ts')).functions],
]);

export function isCommand(word: string): boolean {
  return COMMANDS.has(word);
}

/**
 * Runs a command and prints its result.
 * @param words the arguments after its name
 * @returns the exit code
 */
export async function runCommand(name: string, words: readonly string[], env: Environment): Promise<0 | 1> {
  try {
    const command = await COMMANDS.get(name)?.();
    const { text, failed = false } = (await command?.(words, env)) ?? {};
    if (text !== undefined) process.stdout.write(`${text}\n`);
    return failed ? 1 : 0;
  } catch (error) {
    process.stderr.write(`${explainError(error)}\n`);
    return 1;
  }
}

/** An error in a sentence or two. */
export function explainError(error: unknown): string {
  if (error instanceof SuppressedError) return `${explainError(error.suppressed)}\n${explainError(error.error)}`;
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof MillraceError)) return error.message;
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.message}${cause}${error.hint === undefined ? '' : `\n${error.hint}`}`;
}
