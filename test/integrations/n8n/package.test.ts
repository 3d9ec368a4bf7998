/**
 * The package n8n-nodes-millrace: it compiles, passes the rules of n8n for community nodes, and n8n's loader finds its nodes in
 * the published files.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openEngine } from '../../helpers/n8n/engine.ts';
import { built, FOLDER, inPackage } from '../../helpers/n8n/package.ts';

t.test('The n8n package compiles and passes the lint rules of n8n.', async (t) => {
  await built();
  t.equal(await inPackage('node_modules/eslint/bin/eslint.js', '--max-warnings', '0', '.'), '');
});

t.test('n8n finds the nodes and the credentials.', async (t) => {
  const { loader } = await openEngine(t);
  t.equal(loader.packageName, 'n8n-nodes-millrace');
  t.strictSame(Object.keys(loader.nodeTypes).sort(), ['millrace', 'millraceTrigger']);
  t.strictSame(Object.keys(loader.credentialTypes), ['millraceApi']);
  t.equal(loader.nodeTypes['millrace']?.type.description.usableAsTool, true, 'agents may use it');
});

t.test('The files that n8n reads in the package are published.', async (t) => {
  const text = readFileSync(join(FOLDER, 'package.json'), 'utf8');
  const { n8n, files, keywords } = JSON.parse(text);
  t.ok(keywords.includes('n8n-community-node-package'));
  t.strictSame(files, ['dist']);
  for (const path of [...n8n.nodes, ...n8n.credentials])
    t.ok(readFileSync(join(FOLDER, path), 'utf8').length > 0, path);
  const lock = JSON.parse(readFileSync(join(FOLDER, 'package-lock.json'), 'utf8'));
  t.strictSame(
    Object.values<{ dev?: boolean }>(lock.packages).filter(({ dev }) => dev !== true).length,
    1,
    'it needs none',
  );
});
