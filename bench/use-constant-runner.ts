/** Preloaded into a server (`node --import`): it starts `constant-runner.ts` instead of the process that runs functions. */
import childProcess, { type SpawnOptions } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { fileURLToPath } from 'node:url';

const [folder, runner] = ['.', './constant-runner.ts'].map((path) => fileURLToPath(new URL(path, import.meta.url)));
const { spawn } = childProcess;

function spawnConstantRunner(command: string, words: readonly string[], options: SpawnOptions) {
  const isRunner = words.at(-1)?.endsWith('/sandbox/runner/main.ts') === true;
  const given = isRunner ? [...words.slice(0, -1), `--allow-fs-read=${folder}*`, runner ?? ''] : words;
  return spawn(command, given, options);
}

Object.assign(childProcess, { spawn: spawnConstantRunner });
syncBuiltinESMExports();
