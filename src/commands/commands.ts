/**
 * What the program does for those who run it, beside serving: `millrace owner`, `keys` and `files`. They are part of it and
 * no scripts, because an image and a package have no others. Not here: what each does.
 */
import type { Environment } from '../kernel/config/config.ts';
import { MillraceError } from '../kernel/errors.ts';

/** What a command came to. */
export interface CommandOutcome {
  /** What to tell at its end; nothing where it has told all. */
  readonly text?: string;
  readonly failed?: boolean;
}

type Command = (words: readonly string[], env: Environment) => Promise<CommandOutcome>;

/** Each is loaded when it is asked for. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map<string, () => Promise<Command>>([
  ['owner', async () => (await import('./owner.ts')).owner],
  ['keys', async () => (await import('./keys.ts')).keys],
  ['files', async () => (await import('./files.ts')).files],
]);

export function isCommand(word: string): boolean {
  return COMMANDS.has(word);
}

/**
 * Runs a command and tells what it came to.
 * @param words what stood behind its name
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
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof MillraceError)) return error.message;
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.message}${cause}${error.hint === undefined ? '' : `\n${error.hint}`}`;
}
