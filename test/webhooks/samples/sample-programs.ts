/**
 * The samples of docs/webhooks.md as programs: each is cut out of the page, combined with a small program of drivers/
 * that reads deliveries, and built once.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PAGE = new URL('../../../docs/webhooks.md', import.meta.url);
/** Rust's packages are compiled once and cached. */
const RUST_FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/millrace/webhook-sample', import.meta.url));
const BUILD_MS = 240_000;

/** A code block of the page in a language. @param which the first is 1 */
export function sampleOf(language: string, which = 1): string {
  const blocks = [
    ...readFileSync(PAGE, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')),
  ];
  const text = blocks[which - 1]?.[1];
  if (text === undefined) throw new Error(`docs/webhooks.md has no sample ${which} in ${language}`);
  return text;
}

export interface SampleProgram {
  readonly language: string;
  /** Why it cannot run here; undefined if it can. */
  why(): string | undefined;
  /** Builds it in an empty folder. @returns the command that runs it */
  build(folder: string): readonly [string, ...string[]];
}

export const SAMPLE_PROGRAMS: readonly SampleProgram[] = [
  {
    language: 'Node',
    why: () => undefined,
    build: (folder) => {
      write(folder, { 'webhook.mjs': sampleOf('js'), 'driver.mjs': driver('driver.mjs') });
      return [process.execPath, join(folder, 'driver.mjs')];
    },
  },
  {
    language: 'Python',
    why: () => undefined,
    build: (folder) => {
      write(folder, { 'webhook.py': sampleOf('python'), 'driver.py': driver('driver.py') });
      return ['python3', '-B', join(folder, 'driver.py')];
    },
  },
  {
    language: 'Go',
    why: () => absent('go', 'version'),
    build: (folder) => {
      const module = 'module sample\n\ngo 1.21\n';
      write(folder, { 'go.mod': module, 'webhook/webhook.go': sampleOf('go'), 'main.go': driver('main.go') });
      const binary = join(folder, 'driver');
      run('go', ['build', '-o', binary, '.'], folder, { GOTOOLCHAIN: 'local', GOFLAGS: '', GOWORK: 'off' });
      return [binary];
    },
  },
  {
    language: 'Java',
    why: () => absent('javac', '-version') ?? absent('java', '-version'),
    build: (folder) => {
      write(folder, { 'Webhook.java': sampleOf('java'), 'Driver.java': driver('Driver.java') });
      run('javac', ['-encoding', 'UTF-8', 'Driver.java', 'Webhook.java'], folder);
      return ['java', '-cp', folder, 'Driver'];
    },
  },
  {
    language: 'Rust',
    why: () => absent('cargo', '--version') ?? withoutPackages(),
    build: () => {
      run('cargo', ['build', '--quiet', '--offline'], rustFolder());
      return [join(RUST_FOLDER, 'target', 'debug', 'sample')];
    },
  },
];

/** A program's result for each delivery. @param lines deliveries, as vectors.ts writes them */
export function judge([command, ...words]: readonly [string, ...string[]], lines: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const child = execFile(command, words, (error, stdout) =>
      error === null ? resolve(stdout.trimEnd().split(/\r?\n/)) : reject(error),
    );
    child.stdin?.end(lines);
  });
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

function driver(name: string): string {
  return readFileSync(new URL(`drivers/${name}`, import.meta.url), 'utf8');
}

function absent(command: string, flag: string): string | undefined {
  try {
    execFileSync(command, [flag], { stdio: 'ignore' });
    return undefined;
  } catch {
    return `${command} is not installed`;
  }
}

/** The project of the Rust sample, with the packages that the page names. */
function rustFolder(): string {
  const [, words] = /`cargo add ([^`]+)`/.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const packages = (words ?? '').split(' ').map((word) => word.replace(/@(.*)/, ' = "$1"'));
  const project = ['[package]', 'name = "sample"', 'version = "0.0.0"', 'edition = "2021"', '[workspace]'];
  write(RUST_FOLDER, {
    'Cargo.toml': `${[...project, '[dependencies]', ...packages].join('\n')}\n`,
    'src/webhook.rs': sampleOf('rust'),
    'src/main.rs': driver('main.rs'),
  });
  return RUST_FOLDER;
}

function withoutPackages(): string | undefined {
  try {
    execFileSync('cargo', ['fetch', '--quiet'], { cwd: rustFolder(), stdio: 'ignore', timeout: BUILD_MS });
    return undefined;
  } catch {
    return 'cargo could not fetch the packages of the sample';
  }
}

/** @throws Error with the compiler's output */
function run(command: string, words: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): void {
  execFileSync(command, words, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: BUILD_MS,
  });
}
