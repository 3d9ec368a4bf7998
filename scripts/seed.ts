/**
 * Loads real documents into a running server, over HTTP as any client would: in arrays within the server's limits, a
 * few requests at a time. A collection that has documents is left alone.
 */
import { parseArgs } from 'node:util';
import { Progress } from './progress.ts';
import { bodies, SEED_SETS, type SeedSet } from './seed-sets.ts';

const IN_FLIGHT = 4;
const RESPONSE_MS = 60_000;

const HELP = `Loads real documents into a running server.

Usage: npm run seed -- [names] [--url http://127.0.0.1:3000] [--token TOKEN] [--force]

Names (default: all):
${SEED_SETS.map(({ name, title }) => `  ${name.padEnd(12)}${title}`).join('\n')}

Collections that already have documents are skipped. --force adds all documents again, with new ids.
--token is the credential for the writes: the accessToken of POST /auth/login, or an API key. Required in production mode.
`;

/** The server that gets the documents, and the credential to use. */
interface Target {
  readonly url: string;
  readonly token: string | undefined;
}

/** An error that ends the program with one clear line. */
class Refusal extends Error {}

async function main(): Promise<void> {
  const { values, positionals } = readWords();
  if (values.help) return void process.stdout.write(HELP);
  const target = { url: values.url.replace(/\/+$/, ''), token: values.token };
  const sets = chosen(positionals);
  const started = performance.now();
  process.stdout.write(`Seeding ${target.url}\n`);
  let loaded = 0;
  for (const set of sets) {
    if (!values.force && (await hasDocuments(target, set.name))) {
      process.stdout.write(`  ${set.name.padEnd(10)} already has documents: skipped (--force adds all again)\n`);
      continue;
    }
    loaded += await load(target, set, values.force);
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`${loaded.toLocaleString('en')} documents in ${seconds} s\n`);
}

function readWords() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        url: { type: 'string', default: 'http://127.0.0.1:3000' },
        token: { type: 'string' },
        force: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new Refusal(`${error instanceof Error ? error.message : error}\nSee --help.`);
  }
}

function chosen(names: readonly string[]): readonly SeedSet[] {
  for (const name of names) {
    if (!SEED_SETS.some((set) => set.name === name)) {
      throw new Refusal(`There is no '${name}'. There are: ${SEED_SETS.map((set) => set.name).join(', ')}`);
    }
  }
  return SEED_SETS.filter((set) => names.length === 0 || names.includes(set.name));
}

/** Whether a collection exists and has documents; reads only one of them. */
async function hasDocuments(target: Target, name: string): Promise<boolean> {
  const response = await send(target, `/api/${name}`, {});
  if (response.status === 404) {
    await response.body?.cancel();
    return false;
  }
  await requireSuccess(response, `GET /api/${name}`);
  let start = '';
  for await (const chunk of response.body ?? []) {
    start += Buffer.from(chunk).toString('latin1');
    if (start.length > 1) break;
  }
  return !start.startsWith('[]');
}

/** Sends all documents of a set. Returns how many. */
async function load(target: Target, set: SeedSet, again: boolean): Promise<number> {
  const documents = await set.read();
  const { id } = set;
  const sent = id && !again ? documents.map((document) => ({ id: id(document), ...document })) : documents;
  const progress = new Progress(process.stdout, set.name, sent.length);
  const rest = bodies(sent);
  const lane = async () => {
    // One generator for all lanes: each lane takes the next body when it has sent its last one.
    for (const { text, count } of rest) {
      const path = `/api/${set.name}`;
      const response = await send(target, path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', prefer: 'return=minimal' },
        body: text,
      });
      await requireSuccess(response, `POST ${path}`);
      await response.body?.cancel();
      progress.add(count);
    }
  };
  // A lane that fails closes the generator, so the others end after their current body.
  const lanes = await Promise.allSettled(Array.from({ length: IN_FLIGHT }, lane));
  progress.end();
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason;
  return sent.length;
}

async function send({ url, token }: Target, path: string, request: RequestInit): Promise<Response> {
  const headers = new Headers(request.headers);
  try {
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    return await fetch(`${url}${path}`, { ...request, headers, signal: AbortSignal.timeout(RESPONSE_MS) });
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
      throw new Refusal(
        `No server responds at ${url}. Start one in another terminal with npm start, or use: npm run seed -- --url …`,
      );
    }
    throw new Refusal(`${url}${path}: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

async function requireSuccess(response: Response, what: string): Promise<void> {
  if (response.ok) return;
  const text = await response.text();
  const help = response.status === 401 ? '\nUse a valid token: npm run seed -- --token …' : '';
  throw new Refusal(`${what} failed with ${response.status}: ${detailOf(text)}${help}`);
}

/** The `detail` of a problem document, otherwise the beginning of the response. */
function detailOf(text: string): string {
  try {
    const problem: unknown = JSON.parse(text);
    if (problem !== null && typeof problem === 'object' && 'detail' in problem) return String(problem.detail);
  } catch {
    // The response is not JSON; a proxy may have sent it.
  }
  return text.slice(0, 200);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Refusal ? error.message : error instanceof Error ? error.stack : error}\n`);
  process.exitCode = 1;
}
