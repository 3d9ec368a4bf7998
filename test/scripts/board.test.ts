/** The day of the board says in one line why it cannot pass. What it does to the page: test/e2e/board.test.ts. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';

const BOARD = fileURLToPath(new URL('../../scripts/board.ts', import.meta.url));

t.test('a server in production mode', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const env = { ...process.env, NODE_OPTIONS: '' };
  const reported = await new Promise<string>((resolve) => {
    execFile(process.execPath, [BOARD, '--url', url], { env }, (error, _out, errors) =>
      resolve(`${error?.code} ${errors}`),
    );
  });
  t.match(reported, /^1 The server returned 401: Sign in .* development mode\n$/);
});
