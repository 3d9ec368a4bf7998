/** The error codes that the client names are in the closed table of errors, or are its own and documented in docs/client.md. */
import { readdir, readFile } from 'node:fs/promises';
import t from 'tap';
import { ERRORS } from '../../src/lib/errors.ts';

const CLIENT = new URL('../../client/', import.meta.url);
/** Set by the client itself. */
const OWN = ['invalid-response', 'connection-rejected'];

t.test('Every error code that the client names exists.', async (t) => {
  const known: readonly string[] = [...Object.keys(ERRORS), ...OWN];
  const docs = await readFile(new URL('../../docs/client.md', import.meta.url), 'utf8');
  for (const code of OWN) t.ok(docs.includes(`\`${code}\``), `docs/client.md documents ${code}`);
  let count = 0;
  for (const file of await readdir(CLIENT)) {
    const source = await readFile(new URL(file, CLIENT), 'utf8');
    const quoted = [...source.matchAll(/code: '([^']+)'|`([a-z]+(?:-[a-z]+)+)`/g)];
    for (const [, created, reported] of quoted) {
      const code = created ?? reported ?? '';
      t.ok(known.includes(code), `${file}: ${code}`);
      count += 1;
    }
  }
  t.ok(count > 5, 'the codes are found');
});
