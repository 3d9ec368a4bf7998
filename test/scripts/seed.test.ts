/** The seeding program's own rules: its bodies fit, its refusals are clear, its progress suits a log and a terminal. */
import { createServer, type Server } from 'node:http';
import t, { type Test } from 'tap';
import { Progress } from '../../scripts/progress.ts';
import { bodies, SEED_SETS } from '../../scripts/seed-sets.ts';
import { runSeed } from '../helpers/programs/seed.ts';

/** A server that answers everything alike; gives back its URL. */
async function responding(t: Test, status: number, body: string): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  t.teardown(() => new Promise((resolve) => server.close(resolve)));
  return listening(server);
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

t.test('bodies hold everything, in order, within 1,000 documents and the bytes', async (t) => {
  for (const set of SEED_SETS) {
    const documents = await set.read();
    const all = [...bodies(documents)];
    t.ok(all.every(({ text, count }) => count <= 1_000 && Buffer.byteLength(text) <= 1_000_000));
    t.equal(
      `[${all.map(({ text }) => text.slice(1, -1)).join()}]`,
      JSON.stringify(documents),
      `${set.name}: ${documents.length} in ${all.length}`,
    );
  }
  t.strictSame([...bodies([])], []);
  t.strictSame(
    [...bodies(['é'.repeat(10), 'b', 'c'], 12)].map(({ count }) => count),
    [1, 2],
    'bytes are counted, and one large document goes alone',
  );
});

t.test('what it cannot do it says in one line', async (t) => {
  const closed = createServer();
  const nobody = await listening(closed);
  await new Promise((resolve) => closed.close(resolve));
  t.match(await runSeed(['--url', nobody]), {
    code: 1,
    errors: /^No server responds at http:\/\/127\.0\.0\.1:\d+\. Start one .*npm start.*\n$/,
  });
  t.match(await runSeed(['cars']), { code: 1, errors: /There is no 'cars'\. There are: countries, movies, flights/ });
  t.match(await runSeed(['--fast']), { code: 1, errors: /--fast.*\n.*See --help/s });
  t.match(await runSeed(['--help']), { code: 0, output: /Usage: npm run seed/ });
  const refusing = await responding(t, 403, '{"detail":"No policy allows it"}');
  t.match(await runSeed(['countries', '--url', refusing]), { code: 1, errors: /403: No policy allows it/ });
  const other = await responding(t, 502, '<html>Bad gateway</html>');
  t.match(await runSeed(['--url', other]), { code: 1, errors: /502: <html>Bad gateway/ });
});

t.test('a token says who writes', async (t) => {
  const seen = new Set<string | undefined>();
  const server = createServer((request, response) => {
    request.resume();
    seen.add(request.headers.authorization);
    const status = request.headers.authorization === undefined ? 401 : request.method === 'GET' ? 404 : 201;
    response.writeHead(status).end('{"detail":"Sign in to use this server"}');
  });
  t.teardown(() => new Promise((resolve) => server.close(resolve)));
  const url = await listening(server);
  t.match(await runSeed(['countries', '--url', url]), {
    code: 1,
    errors: /401: Sign in to use this server\n.*--token/,
  });
  t.match(await runSeed(['countries', '--url', url, '--token', 'mr_key']), { code: 0, output: /250 of 250/ });
  t.strictSame([...seen], [undefined, 'Bearer mr_key'], 'it comes with every request');
});

t.test('progress is one changing line at a terminal and plain lines in a log', async (t) => {
  const show = (isTTY: boolean) => {
    const written: string[] = [];
    const progress = new Progress({ isTTY, write: (text) => written.push(text) }, 'movies', 3_201);
    progress.add(3_201);
    progress.end();
    return written.join('');
  };
  t.match(show(false), /^ {2}movies {5}3,201 of 3,201 {2}\d+\.\d s\n$/);
  t.match(
    show(true),
    /^\r {2}movies {9}0 of 3,201 {2}░{24}[^\n]*\r {2}movies {5}3,201 of 3,201 {2}█{24} {2}\d+\.\d s \n$/,
  );
});
