/**
 * Clients that the generators of npm make from the contract of a running server: they are generated without a warning, compile
 * under strict settings, and their programs create, list, change, upload and delete.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import {
  compile,
  copyProgram,
  globalNames,
  programFolder,
  type Run,
  runNode,
  runPackage,
} from '../../helpers/programs/openapi-clients.ts';
import { EXPECTED, resultOf, SEEDS } from './scenario.ts';

const CLIENTS = ['orval', 'hey-api', 'openapi-fetch', 'swagger-typescript-api'];

/** What a generator or the linter says about the contract that one should know. */
const COMPLAINT = /\b(?:warn(?:ing)?s?|errors?|deprecated|unsupported|conflict|duplicate)\b/i;

/**
 * Rules of the linter that cannot hold: a collection of a name has paths beside those of any collection, and where a provider
 * sends a browser to, the response is another redirect.
 */
const SKIPPED_RULES = ['no-ambiguous-paths', 'operation-2xx-response'];

t.setTimeout(300_000);
t.test('clients of npm', async (t) => {
  const { app } = await buildTestApp(t);
  for (const { url, payload } of SEEDS) await app.inject({ method: 'POST', url, payload });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const from = `${url}/openapi.json`;
  const folder = programFolder(t);
  for (const name of CLIENTS) {
    mkdirSync(join(folder, name));
    copyProgram(`${name}.ts`, join(folder, name, 'program.ts'));
  }
  const orval = {
    api: { input: from, output: { target: 'orval/api.ts', client: 'fetch', mode: 'single', baseUrl: url } },
  };
  writeFileSync(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify(orval)};`);
  const heyApi = { input: from, output: { path: 'hey-api/api', importFileExtension: '.js' }, logs: { file: false } };
  writeFileSync(join(folder, 'openapi-ts.config.mjs'), `export default ${JSON.stringify(heyApi)};`);

  const generators: Readonly<Record<string, () => Promise<Run>>> = {
    orval: () => runPackage('orval/dist/bin/orval.mjs', ['--config', 'orval.config.mjs'], folder),
    'hey-api': () => runPackage('@hey-api/openapi-ts/bin/run.js', ['-f', 'openapi-ts.config.mjs'], folder),
    'openapi-typescript': () =>
      runPackage('openapi-typescript/bin/cli.js', [from, '-o', 'openapi-fetch/api.ts'], folder),
    'swagger-typescript-api': () =>
      runPackage(
        'swagger-typescript-api/dist/cli.mjs',
        ['generate', '-p', from, '-o', 'swagger-typescript-api', '-n', 'api.ts'],
        folder,
      ),
    redocly: () =>
      runPackage(
        '@redocly/cli/bin/cli.js',
        ['lint', from, '--format=stylish', ...SKIPPED_RULES.map((rule) => `--skip-rule=${rule}`)],
        folder,
      ),
  };
  const globals = globalNames();
  t.ok(globals.has('File') && globals.has('Promise'));
  const { schemas } = (await app.inject('/openapi.json')).json().components;
  const hiding = Object.keys(schemas).filter((name) => globals.has(name));
  t.strictSame(hiding, [], 'no schema hides what programs have without an import');
  for (const [name, generate] of Object.entries(generators)) {
    const { code, output } = await generate();
    t.equal(code, 0, `${name} ends well`);
    const lines = output.split('\n').filter((line) => COMPLAINT.test(line));
    t.strictSame(lines, [], `${name} has nothing to say about the contract`);
  }
  for (const name of CLIENTS) {
    // The code that hey-api adds to each client sets optional members to undefined.
    const messages = await compile(join(folder, name), { exactOptionalPropertyTypes: name !== 'hey-api' });
    t.equal(messages, '', `the program with ${name} compiles`);
    const { output } = await runNode([join(folder, name, 'dist/program.js'), url], folder);
    t.strictSame(resultOf(output), EXPECTED, `the program with ${name}`);
  }
});
