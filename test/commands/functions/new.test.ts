/** `millrace functions new` and `types`: plugins that compile for their author and that the server accepts. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { newPlugin } from '../../../src/commands/functions/new-plugin.ts';
import { RemoteServer } from '../../../src/commands/remote/remote.ts';
import { readPlugin } from '../../../src/functions/plugins/folders/read-plugin.ts';
import { FUNCTION_KINDS } from '../../../src/functions/sandbox/sandbox.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { compileForAuthors } from '../../helpers/functions/author-program.ts';
import { runCommandLine } from '../../helpers/programs/command-line.ts';
import { ask } from '../../helpers/users.ts';

/** A URL at which no server runs any longer. */
const NOBODY = await new Promise<string>((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : '';
    server.close(() => resolve(`http://127.0.0.1:${port}`));
  });
});

const nobody = (t: Test) => {
  const remote = new RemoteServer(NOBODY, undefined);
  t.teardown(() => remote.close());
  return remote;
};

function emptyFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-new-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function run(t: Test, cwd: string, ...words: readonly string[]) {
  const command = runCommandLine(t, ['functions', ...words], cwd);
  return { code: await command.ended(), output: command.output() };
}

t.test('A plugin of each kind compiles and is valid, without a server.', async (t) => {
  const folder = join(emptyFolder(t), 'plugins');
  const remote = nobody(t);
  const printed = t.capture(console, 'log');
  const scripts: Record<string, string> = {};
  for (const kind of FUNCTION_KINDS) {
    const name = `my-${kind.toLowerCase()}`;
    await newPlugin({ name, kind, folder }, remote);
    const output = printed()
      .map(({ args }) => args.join(' '))
      .join('\n');
    t.match(output, `/plugins/${name}: plugin.json, `);
    t.match(output, `no server responds at ${NOBODY}. Use --url for another one`);
    t.match(output, `logs ${name} --url ${NOBODY} `);
    t.match(output, `curl ${kind === 'cron' ? "'" : ''}${NOBODY}/`);
    const plugin = await readPlugin(join(folder, name), name);
    t.strictSame(plugin.diagnostics, [], kind);
    for (const [path, text] of plugin.files) scripts[`${name}/${path}`] = text;
    t.ok(existsSync(join(folder, name, 'README.md')));
  }
  const types = readFileSync(join(folder, 'millrace.d.ts'), 'utf8');
  t.ok(existsSync(join(folder, 'tsconfig.json')));
  t.strictSame(await compileForAuthors(t, types, scripts), []);
  const schema = JSON.parse(readFileSync(join(folder, 'plugin.schema.json'), 'utf8'));
  t.match(schema.properties.functions.items.properties.cron, { type: 'string', description: /five fields/ });
});

t.test('Nothing is overwritten, and invalid names are rejected.', async (t) => {
  const cwd = emptyFolder(t);
  mkdirSync(join(cwd, 'plugins/mine'), { recursive: true });
  t.match(await run(t, cwd, 'new', 'mine', '--url', NOBODY), {
    code: 1,
    output: 'plugins/mine already exists. Choose another name, or remove it\n',
  });
  const [folder, remote] = [join(cwd, 'plugins'), nobody(t)];
  for (const name of ['Mine', '../mine', 'a_b', 'plugins', 'a'.repeat(41)]) {
    await t.rejects(newPlugin({ name, kind: 'job', folder }, remote), { message: /plugin\.json \/name: / }, name);
  }
  t.strictSame(readdirSync(cwd, { recursive: true }).map(String).sort(), ['plugins', 'plugins/mine']);
});

t.test('Typings contain the collections of a server, and millrace functions new keeps them.', async (t) => {
  const cwd = emptyFolder(t);
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  await ask(app, 'POST /api/movies', { title: 'Metropolis' });
  t.match(await run(t, cwd, 'types', '--url', url, '--folder', 'mine'), {
    code: 0,
    output: `Wrote mine/millrace.d.ts\n`,
  });
  const types = () => readFileSync(join(cwd, 'mine/millrace.d.ts'), 'utf8');
  t.match(types(), /movies: \{\s+title\?: string;/);
  t.match(await run(t, cwd, 'new', 'x', '--folder', 'mine', '--url', NOBODY), { code: 0 });
  t.match(types(), /movies: \{/, 'without a server they stay');
  t.match(await run(t, cwd, 'types', '--url', NOBODY), { code: 1, output: /^No server responds at / });
});
