/** The deployment files, without an engine: the schema of Compose, a linter, and required content. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { admin } from '../src/commands/admin.ts';
import { isCommand } from '../src/commands/commands.ts';
import { files } from '../src/commands/files.ts';
import { signingKeys } from '../src/commands/signing-keys.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');

t.test('docker-compose.yml is valid by schema and linter', async (t) => {
  const lint = join(dirname(createRequire(import.meta.url).resolve('dclint/package.json')), 'bin', 'dclint.cjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [lint, '--quiet', 'docker-compose.yml'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  t.equal(status, 0, `${stdout}${stderr}`);
});

t.test('every image is pinned, every service is healthy before it is used', async (t) => {
  const compose = read('docker-compose.yml');
  const images = [...compose.matchAll(/image: (\S+)/g), ...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(
    ([, image]) => image,
  );
  // Svix publishes no digest that could be checked from here.
  const pinned = (image = '') =>
    image.startsWith('svix/') ? /:v\d+\.\d+\.\d+$/ : /:v?\d+\.\d+(\.\d+)?(-[a-z-]+)?@sha256:[0-9a-f]{64}$/;
  for (const image of images) t.match(image, pinned(image), String(image));
  t.equal(images.length, 7);
  t.match(compose, /--replSet.*rs0/);
  t.match(compose, /rs\.initiate/);
  for (const [, condition] of compose.matchAll(/condition: (\S+)/g)) {
    t.match(condition, /^service_(healthy|completed_successfully)$/);
  }
  const ports = [...compose.matchAll(/^ {6}- "?([\d.:]+)"?$/gm)].map(([, port]) => port);
  t.same(ports, ['127.0.0.1:3000:3000'], 'only Millrace is reachable, and from this machine');
});

/** The networks of a service, from its part of the file. */
function networksOf(compose: string, service: string): string[] {
  const part = compose.split(/^ {2}(?=\S)/m).find((text) => text.startsWith(`${service}:\n`)) ?? '';
  const [, list = ''] = /^ {4}networks:\n((?: {6}- .*\n)+)/m.exec(part) ?? [];
  return list.split(/\s*- |\n/).filter((name) => name !== '');
}

t.test('databases and the store are on separate networks, which nothing outside reaches', async (t) => {
  const compose = read('docker-compose.yml');
  t.strictSame(networksOf(compose, 'millrace'), ['outside', 'database', 'store']);
  t.strictSame(networksOf(compose, 'mongo'), ['database']);
  t.strictSame(networksOf(compose, 'files'), ['store']);
  t.strictSame(networksOf(compose, 'svix'), ['outside', 'svix-database']);
  t.strictSame(networksOf(compose, 'svix-postgres'), ['svix-database']);
  const [, networks = ''] = /^networks:\n((?: {2}.*\n)+)/m.exec(compose) ?? [];
  for (const name of ['database', 'store', 'svix-database']) {
    t.match(networks, new RegExp(`^ {2}${name}:\n {4}internal: true$`, 'm'), name);
  }
});

t.test('MongoDB requires a password, and the file does not contain it', async (t) => {
  const compose = read('docker-compose.yml');
  t.match(compose, /--keyFile=/);
  t.match(compose, /--networkMessageCompressors=disabled/);
  t.match(compose, /MONGODB_URL: mongodb:\/\/millrace:\$\{MONGO_PASSWORD:\?[^}]+\}@mongo:27017\//);
  for (const [, password] of compose.matchAll(/pwd: (\w+)/g)) t.equal(password, 'root', 'from the environment');
});

t.test('every package of the lockfile has a content hash', async (t) => {
  const packages: Record<string, { integrity?: string; link?: boolean }> = JSON.parse(
    read('package-lock.json'),
  ).packages;
  for (const [path, { integrity, link }] of Object.entries(packages)) {
    if (path !== '' && !link) t.match(integrity, /^sha512-/, path);
  }
});

t.test('no secret has a default', async (t) => {
  const compose = read('docker-compose.yml');
  const named = [...compose.matchAll(/(?:KEY|SECRET|PASSWORD)\w*: (.*)/g)];
  const inAddresses = [...compose.matchAll(/:\/\/\w+:(.*)@/g)];
  t.ok(named.length >= 6 && inAddresses.length >= 2, `${named.length} named, ${inAddresses.length} in addresses`);
  for (const [, value = ''] of [...named, ...inAddresses]) t.match(value, /^\$\{\w+:(\?[^}]*|-)\}$/, value);
  t.notMatch(compose, /\bpwd: ["'`]/, 'the health check takes them from the environment');
  t.match(read('.gitignore'), /^\.env$/m, 'nor is one committed');
});

t.test('the image does not run as root and contains only its sources', async (t) => {
  t.match(read('Dockerfile'), /\nUSER \d+:\d+\n/);
  t.match(read('.dockerignore'), /^\*$/m);
});

t.test('commands for operators are a part of the program, since the image has nothing else', async (t) => {
  t.match(read('Dockerfile'), /CMD \["node", "--enable-source-maps", "--max-semi-space-size=16", "dist\/main\.js"\]/);
  t.match(read('Dockerfile'), /\nRUN ln -s \/app\/dist\/main\.js \/usr\/local\/bin\/millrace\n/);
  for (const [command, run] of Object.entries({ admin, 'signing-keys': signingKeys, files })) {
    t.ok(isCommand(command), command);
    t.match(await run(['-h'], {}), { text: new RegExp(`^millrace ${command} `, 'm'), failed: false });
    t.equal(JSON.parse(read('package.json')).scripts[command], `node src/main.ts ${command}`);
  }
  const { status, stderr } = spawnSync(process.execPath, ['src/main.ts', 'admin', '--lnik'], { encoding: 'utf8' });
  t.match([status, stderr], [1, /^Unknown option '--lnik'/]);
  const wrong = [
    await admin(['--email', 'ada@example.org'], {}),
    await signingKeys(['rotat'], {}),
    await files(['mvoe'], {}),
  ];
  for (const outcome of wrong) t.match(outcome, { failed: true, text: /^millrace /m });
  const { status: mistaken, stdout } = spawnSync(process.execPath, ['src/main.ts', 'files', 'mvoe'], {
    encoding: 'utf8',
  });
  t.match([mistaken, stdout], [1, /^millrace files /m], 'a script that calls it goes no further');
});

t.test('the image keeps the native parts of its dependencies', async (t) => {
  const { packages } = JSON.parse(read('package-lock.json'));
  t.equal(packages['node_modules/@node-rs/argon2-linux-x64-gnu'].optional, true, 'npm takes them for optional');
  t.match(read('Dockerfile'), /npm prune --omit=dev /);
  t.notMatch(read('Dockerfile'), /omit=optional/);
});

t.test('every setting reaches the program in Compose', async (t) => {
  t.match(read('docker-compose.yml'), /env_file:\n {6}- path: \.env\n/);
  for (const [, name = ''] of read('docker-compose.yml').matchAll(/\$\{(\w+)/g)) {
    t.match(read('.env.example'), new RegExp(`^#${name}=`, 'm'), name);
  }
});

const hadolint = spawnSync('hadolint', ['--version']).status === 0 ? false : 'hadolint is not installed';
t.test('the Dockerfile passes hadolint', { skip: hadolint }, async (t) => {
  const { status, stdout } = spawnSync('hadolint', ['Dockerfile'], { cwd: ROOT, encoding: 'utf8' });
  t.equal(status, 0, stdout);
});
