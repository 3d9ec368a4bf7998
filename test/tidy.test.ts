/**
 * Rules of the layout that a program can check: layers of imports, where vendors are imported, sizes, generated pages, tests that
 * docs/security.md names. docs/architecture.md says why; test/words.test.ts checks the vocabulary.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { stalePages } from '../scripts/generate.ts';
import { promises } from './helpers/promises.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const FLOORS: Readonly<Record<string, number>> = {
  lib: 0,
  config: 1,
  openapi: 1,
  egress: 2,
  database: 2,
  query: 2,
  auth: 3,
  email: 3,
  policies: 3,
  quotas: 3,
  queue: 3,
  collections: 4,
  files: 4,
  events: 4,
  http: 5,
  realtime: 5,
  webhooks: 5,
  functions: 5,
  dashboard: 5,
  commands: 6,
};

/** Folders of one layer that may import each other, and why. */
const NEIGHBOURS = new Set([
  'policies>auth', // a policy is about a principal
  'auth>email', // sign-ins send e-mails
  'email>auth', // an e-mail is sent to a user
  'email>queue', // an e-mail waits in a queue
]);
/** The routes of a feature, in its folder `http`, are a layer of their own above the features that serve documents. */
const HTTP_FLOOR = 4.5;

const MAX_LINES = 300;
/** A folder with more files needs a second look; it is no error. */
const MANY_FILES = 30;

/** Modules that may use a vendor as a value; types may be imported anywhere. */
const DOORS: readonly { readonly vendor: RegExp; readonly doors: RegExp }[] = [
  { vendor: /^@fastify\/busboy$/, doors: /^src\/files\/upload\/multipart\.ts/ },
  { vendor: /^file-type$/, doors: /^src\/files\/upload\/detect-file-type\.ts/ },
  {
    vendor: /^fastify$|^fastify-plugin$|^@fastify\/(?!busboy)/,
    doors: /^src\/(app\.ts|http\/|auth\/tokens\/jwt\.ts|[a-z]+\/([a-z-]+\/)?([a-z]+-)*routes\.ts)/,
  },
  {
    vendor: /^mongodb$/,
    doors:
      /^src\/(database\/|events\/(log|record|read)\/(event-log|change-stream-start-time|recorder|consumer)\.ts|files\/.*store\.ts|realtime\/.*store\.ts|webhooks\/.*store\.ts|functions\/.*store\.ts|collections\/store\/(store|batched-database-calls)\.ts)/,
  },
  { vendor: /^@scalar\//, doors: /^src\/http\/docs\/api-reference-script\.ts/ },
  {
    vendor: /^undici$|^node:(http2?|https|tls|dgram)$/,
    doors: /^src\/(egress\/|http\/errors\.ts|commands\/webhooks\/receiver\.ts)/,
  },
  { vendor: /^openid-client$/, doors: /^src\/auth\/oauth\// },
  { vendor: /^@node-saml\/|^xml-encryption$/, doors: /^src\/auth\/saml\// },
  { vendor: /^@xmldom\//, doors: /^src\/auth\/saml\/xml\.ts/ },
  { vendor: /^otpauth$/, doors: /^src\/auth\/mfa\/totp\.ts/ },
  { vendor: /^@simplewebauthn\//, doors: /^src\/auth\/passkeys\/webauthn\.ts/ },
  { vendor: /^uqr$/, doors: /^src\/auth\/mfa\/totp-factor\.ts/ },
  { vendor: /^isolated-vm$/, doors: /^src\/functions\/sandbox\/runner\// },
  { vendor: /^svix$/, doors: /^src\/webhooks\/sending\/svix\/svix-api\.ts/ },
  { vendor: /^amaro$/, doors: /^src\/functions\/plugins\/compile\// },
  { vendor: /^nodemailer$/, doors: /^src\/email\/smtp-mailer\.ts/ },
  { vendor: /^@node-rs\/argon2$/, doors: /^src\/auth\/passwords\/passwords\.ts/ },
  { vendor: /^@aws-sdk\//, doors: /^src\/files\/stores\/s3-store\.ts/ },
];

function files(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(tsx?|mjs)$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => !path.includes('node_modules'))
    .sort();
}

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

function imports(path: string): Import[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return [
    ...text.matchAll(
      /^(?:import|export)\s(?!const|function|class|interface|async|abstract)([^;]*?)from\s+'([^']+)'/gms,
    ),
  ].map(([, names = '', to = '']) => ({
    from: path,
    to: to.startsWith('.') ? join(dirname(path), to) : to,
    typeOnly:
      /^type\s/.test(names) ||
      (/^\{/.test(names.trim()) &&
        names
          .replace(/[{}\s]/g, ' ')
          .split(',')
          .every((name) => name.trim() === '' || /^type\s/.test(name.trim()))),
  }));
}

function folderOf(path: string): string | undefined {
  return /^src\/([a-z]+)\//.exec(path)?.[1];
}

function floorOf(path: string, folder: string): number {
  return /^src\/[a-z]+\/http\//.test(path) ? HTTP_FLOOR : (FLOORS[folder] ?? Number.NaN);
}

const SOURCES = files('src');
const ALL = ['src', 'test', 'scripts', 'bench', 'dashboard', 'client', 'integrations/zapier'].flatMap((folder) => {
  try {
    return files(folder);
  } catch {
    return [];
  }
});
const IMPORTS = SOURCES.flatMap(imports);

t.test('imports point down or stay in their folder', async (t) => {
  const upward = IMPORTS.filter(({ from, to }) => {
    const [upper, lower] = [folderOf(from), folderOf(to)];
    if (upper === undefined || !to.startsWith('src/')) return false;
    if (lower === undefined) return true;
    if (upper === lower || NEIGHBOURS.has(`${upper}>${lower}`)) return false;
    const [above, below] = [floorOf(from, upper), floorOf(to, lower)];
    return above === HTTP_FLOOR && below === HTTP_FLOOR ? false : above <= below;
  });
  t.strictSame(upward, []);
});

t.test('folders and files have no import cycles', async (t) => {
  const all = [
    ...IMPORTS,
    ...files('client').flatMap(imports),
    ...['dashboard/src', 'integrations/zapier'].flatMap(files).flatMap(imports),
  ];
  const folders = all.map(({ from, to }) => ({ from: dirname(from), to: dirname(to) }));
  t.strictSame(circleOf(all), null);
  t.strictSame(circleOf(folders.filter(({ from, to }) => from !== to)), null);
});

/** The first path from a node back to itself along the edges; null if there is none. */
function circleOf(arrows: readonly { readonly from: string; readonly to: string }[]): readonly string[] | null {
  const next = Map.groupBy(arrows, ({ from }) => from);
  const left = new Set<string>();
  const way: string[] = [];
  const walk = (file: string): readonly string[] | null => {
    if (left.has(file)) return null;
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    way.push(file);
    for (const { to } of next.get(file) ?? []) {
      const circle = walk(to);
      if (circle !== null) return circle;
    }
    way.pop();
    left.add(file);
    return null;
  };
  for (const file of next.keys()) {
    const circle = walk(file);
    if (circle !== null) return circle;
  }
  return null;
}

t.test('folders with many files are listed', async (t) => {
  const counts = Map.groupBy(
    [...SOURCES, ...['client', 'dashboard/src', 'integrations/zapier', 'test'].flatMap(files)],
    dirname,
  );
  for (const [folder, { length }] of counts) {
    if (length > MANY_FILES) t.comment(`${folder} holds ${length} files`);
  }
});

t.test('every folder has a layer', async (t) => {
  for (const folder of new Set(SOURCES.map(folderOf))) t.ok(folder === undefined || folder in FLOORS, String(folder));
});

t.test("no folder imports another folder's store", async (t) => {
  const outside = IMPORTS.filter(
    ({ from, to }) => /store\.ts$/.test(to) && folderOf(from) && folderOf(from) !== folderOf(to),
  );
  t.strictSame(outside, []);
});

t.test('vendors are imported only by their adapters', async (t) => {
  const strays = IMPORTS.filter(({ from, to, typeOnly }) =>
    DOORS.some(({ vendor, doors }) => !typeOnly && vendor.test(to) && !doors.test(from)),
  );
  t.strictSame(strays, []);
});

t.test('calls to other servers go through src/egress', async (t) => {
  // Global functions of Node for requests, unless it is a method name. Modules that make requests are vendors with
  // adapters. Scripts of pages are texts.
  const call = /(?<![.\w])(?:fetch\b(?!:)|(?:new\s+)(?:WebSocket|EventSource)\b)|\bglobalThis\s*(?:\.|\[)/;
  // The download of MongoDB, from a URL in the code, is a stream of hundreds of megabytes.
  const own = /^src\/(egress\/|database\/embedded\/official-build\.ts)/;
  const callers = SOURCES.filter((path) => {
    const code = readFileSync(join(ROOT, path), 'utf8').replace(
      /\/\*[\s\S]*?\*\/|\/\/ .*|`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'/g,
      "''",
    );
    return !own.test(path) && call.test(code);
  });
  t.strictSame(callers, []);
});

t.test('only the outermost layer reads the process', async (t) => {
  const readers = SOURCES.filter((path) => /\bprocess\.(env|argv|exit)/.test(readFileSync(join(ROOT, path), 'utf8')));
  t.strictSame(
    readers.filter((path) => !['src/main.ts', 'src/requirements.ts', 'src/config/config.ts'].includes(path)),
    [],
  );
});

t.test('no file has more than 300 lines', async (t) => {
  const long = ALL.map((path) => ({ path, lines: readFileSync(join(ROOT, path), 'utf8').split('\n').length - 1 }));
  t.strictSame(
    long.filter(({ lines }) => lines > MAX_LINES),
    [],
  );
});

t.test('names of source files are kebab-case and descriptive', async (t) => {
  const names = SOURCES.map((path) => ({ path, name: path.split('/').at(-1) ?? '' }));
  t.strictSame(
    names.filter(({ name }) => !/^[a-z0-9]+(-[a-z0-9]+)*\.(ts|mjs)$/.test(name) || name === 'index.ts'),
    [],
  );
});

t.test('no loopholes in the types', async (t) => {
  const loophole = /\bas any\b|:\s*any\b|<any>|@ts-ignore|@ts-nocheck|^enum |biome-ignore/m;
  const found = ALL.filter((path) => path !== 'test/tidy.test.ts').map((path) => {
    const code = readFileSync(join(ROOT, path), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/ .*/g, '');
    return { path, loophole: loophole.exec(code)?.[0] };
  });
  t.strictSame(
    found.filter(({ loophole }) => loophole !== undefined),
    [],
  );
});

t.test('generated pages are up to date', async (t) => {
  t.strictSame(stalePages(), []);
});

t.test('every promise of docs/security.md has a test', async (t) => {
  const { count, issues } = promises();
  t.ok(count > 100, `${count} promises`);
  t.strictSame(issues, []);
});
