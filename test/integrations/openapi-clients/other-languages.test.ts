/**
 * Clients in other languages, and with the TypeScript generator of openapi-generator, in the long profile (MILLRACE_LONG=1):
 * they are generated without a complaint about the contract, compile or type-check, and their programs do what those of
 * npm do. They need Java with Maven, Go, and Python with pip.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { compile, copyProgram, programFolder, type Run, run, runNode } from '../../helpers/programs/openapi-clients.ts';
import { EXPECTED, resultOf, SEEDS } from './scenario.ts';

const GENERATOR = 'openapi-generator-cli-7.14.0';
const PYTHON_PACKAGES = [
  'openapi-python-client==0.29.1',
  'mypy==2.4.1',
  'types-python-dateutil==2.9.0.20261116',
  'pydantic==2.14.4',
  'urllib3==2.8.0',
];
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/millrace', import.meta.url));
const JARS = join(CACHE, GENERATOR);
const PYTHON = join(CACHE, `python-clients-${PYTHON_PACKAGES[0]}`, 'site-packages');
const INSTALL_MS = 600_000;

/** What openapi-generator says of every contract, or of what HTTP itself prescribes. */
const HARMLESS = [
  'OpenAPI 3.1 support is still in beta',
  "The value (generator's option) must be either boolean or string",
  // Of files and of any JSON, which have no name.
  'Failed to get the schema name: null',
  'Could not compute datatypeWithEnum from',
  'Codegen property is null (e.g. map/dict of undefined type)',
  'No application/json content media type found in response',
  // The header of HTTP.
  'range (reserved word) cannot be used as parameter name',
];

const isLong = process.env['MILLRACE_LONG'] === '1';
const has = (program: string, ...words: readonly string[]) => {
  try {
    execFileSync(program, words, { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
};

/** Why the clients of openapi-generator cannot be made here, or false. */
function whyNoGenerator(): string | false {
  if (!isLong) return 'only in the long profile (MILLRACE_LONG=1)';
  if (existsSync(JARS)) return false;
  if (!has('java', '-version') || !has('mvn', '--version')) return 'openapi-generator needs Java and Maven';
  const artifact = `-Dartifact=org.openapitools:${GENERATOR.replace(/-(?=[\d.]+$)/, ':')}`;
  return installed(JARS, 'mvn', (folder) => ['-q', '-B', 'dependency:copy', artifact, `-DoutputDirectory=${folder}`]);
}

/** Why the packages of Python cannot be used here, or false. */
function whyNoPython(): string | false {
  if (!isLong) return 'only in the long profile (MILLRACE_LONG=1)';
  if (existsSync(PYTHON)) return false;
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-compile', '--disable-pip-version-check', '--target'];
  return installed(PYTHON, 'python3', (folder) => [...pip, folder, ...PYTHON_PACKAGES]);
}

/** Installs into a folder that appears only when all is there. @returns why that is not possible, or false */
function installed(folder: string, program: string, words: (folder: string) => readonly string[]): string | false {
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(`${folder}-`);
  try {
    execFileSync(program, words(fresh), { stdio: 'pipe', timeout: INSTALL_MS });
    renameSync(fresh, folder);
    return false;
  } catch (error) {
    return existsSync(folder) ? false : `${program} could not install ${folder.slice(CACHE.length + 1)}: ${error}`;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Generates a client with openapi-generator; what it says about the contract fails the test. */
async function generate(t: Test, from: string, generator: string, to: string, properties: string): Promise<void> {
  const words = ['generate', '-g', generator, '-i', from, '-o', to, `--additional-properties=${properties}`];
  const without = '--global-property=apiTests=false,modelTests=false,apiDocs=false,modelDocs=false';
  const { code, output } = await run('java', ['-jar', join(JARS, `${GENERATOR}.jar`), ...words, without], '.');
  t.equal(code, 0, output.slice(-2_000));
  const said = output.split('\n').filter((line) => /\b(?:WARN|ERROR)\b|^Warning/.test(line));
  const about = said.filter((line) => !HARMLESS.some((harmless) => line.includes(harmless)));
  t.strictSame(about, [], 'nothing to say about the contract');
}

/** The program printed what all of them print. */
function matches(t: Test, { output }: Run): void {
  t.strictSame(resultOf(output), EXPECTED, 'the program runs');
}

t.setTimeout(3_600_000);
const { app } = await buildTestApp(t);
for (const { url, payload } of SEEDS) await app.inject({ method: 'POST', url, payload });
const url = await app.listen({ host: '127.0.0.1', port: 0 });
const from = `${url}/openapi.json`;

t.test('typescript-fetch', { skip: whyNoGenerator() }, async (t) => {
  const folder = programFolder(t);
  await generate(t, from, 'typescript-fetch', join(folder, 'api'), 'importFileExtension=.js');
  copyProgram('typescript-fetch.ts', join(folder, 'program.ts'));
  // It sets optional members to undefined.
  t.equal(await compile(folder, { exactOptionalPropertyTypes: false, noImplicitOverride: false }), '', 'compiles');
  matches(t, await runNode([join(folder, 'dist/program.js'), url], folder));
});

t.test('go', { skip: whyNoGenerator() || (!has('go', 'version') && 'needs Go') }, async (t) => {
  const folder = programFolder(t);
  await generate(t, from, 'go', join(folder, 'client'), 'packageName=millrace,withGoMod=false');
  writeFileSync(join(folder, 'go.mod'), 'module millrace.example\n\ngo 1.21\n');
  copyProgram('main.go', join(folder, 'main.go'));
  const tidied = await run('go', ['mod', 'tidy'], folder);
  t.equal(tidied.code, 0, tidied.output);
  t.strictSame(
    await run('go', ['vet', '-structtag=false', './...'], folder),
    { code: 0, output: '' },
    'compiles, and vet is content',
  );
  matches(t, await run('go', ['run', '.', url], folder));
});

t.test('java', { skip: whyNoGenerator() }, async (t) => {
  const folder = programFolder(t);
  await generate(t, from, 'java', folder, 'openApiNullable=false');
  copyProgram('Scenario.java', join(folder, 'src/main/java/Scenario.java'));
  const goals = ['compile', 'dependency:build-classpath', '-Dmdep.outputFile=classpath'];
  const built = await run('mvn', ['-q', '-B', ...goals], folder);
  t.equal(built.code, 0, built.output.slice(-4_000));
  const classpath = [join(folder, 'target/classes'), readFileSync(join(folder, 'classpath'), 'utf8')].join(delimiter);
  matches(t, await run('java', ['-cp', classpath, 'Scenario', url], folder));
});

t.test('python of openapi-generator', { skip: whyNoGenerator() || whyNoPython() }, async (t) => {
  const folder = programFolder(t);
  await generate(t, from, 'python', folder, 'packageName=openapi_client');
  await python(t, folder, 'openapi_generator.py');
});

t.test('openapi-python-client', { skip: whyNoPython() }, async (t) => {
  const folder = programFolder(t);
  // The metadata of SAML have a type of their own, which it does not know.
  const config = { content_type_overrides: { 'application/samlmetadata+xml': 'text/xml' } };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  const source = ['--url', from, '--meta', 'none', '--config', 'config.json'];
  const words = ['-m', 'openapi_python_client', 'generate', ...source];
  const env = { PYTHONPATH: PYTHON, PATH: `${join(PYTHON, 'bin')}${delimiter}${process.env['PATH']}` };
  const { code, output } = await run('python3', [...words, '--output-path', 'millrace_client'], folder, env);
  t.equal(code, 0, output.slice(-4_000));
  t.notMatch(output, /warning|error|unsupported/i, 'nothing to say about the contract');
  await python(t, folder, 'openapi_python_client.py');
});

/** Checks the types of a program strictly against those of its client, and runs it. */
async function python(t: Test, folder: string, name: string): Promise<void> {
  copyProgram(name, join(folder, name));
  const env = { PYTHONPATH: `${folder}${delimiter}${PYTHON}` };
  const types = await run('python3', ['-m', 'mypy', '--strict', '--follow-imports=silent', name], folder, env);
  t.equal(types.code, 0, types.output.slice(-4_000));
  matches(t, await run('python3', [name, url], folder, env));
}
