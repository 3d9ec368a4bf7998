/** Wrong arguments of `millrace functions` end in one clear line, before any request to a server. */
import t from 'tap';
import { functions } from '../../../src/commands/functions.ts';

t.test('Wrong arguments of millrace functions end in one clear line.', async (t) => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['new'], /^NAME is missing; see --help$/],
    [
      ['push', 'nothing-here'],
      /^There is no plugins\/nothing-here\/plugin\.json\. npm run functions -- new creates a plugin$/,
    ],
    [['pull'], /^NAME is missing/],
    [['logs', 'a', 'b'], /^'b' is not expected here/],
    [['dry-run', 'invoice'], /^'invoice' is not PLUGIN\/FUNCTION$/],
    [['dry-run', 'a/b/c'], /^'a\/b\/c' is not PLUGIN\/FUNCTION$/],
    [['dry-run', 'a/b', '--input', '{'], /^--input \{: not JSON$/],
    [['dry-run', 'a/b', '--as', 'ada'], /^--as ada: must be anonymous, user:ID or key:ID$/],
    [['dry-run', 'a/b', '--roles', 'x'], /^--roles requires --as/],
    [['types', '--kind', 'cron'], /^Unknown option '--kind'\nSee --help$/],
    [['list'], /^'list' is not a command: use new, push, pull, logs, dry-run, types; see --help$/],
  ];
  for (const [words, message] of cases) await t.rejects(functions(words, {}), { message }, words.join(' '));
});

t.test('millrace functions --help shows the usage.', async (t) => {
  const text = /functions new[\s\S]*push[\s\S]*pull[\s\S]*logs[\s\S]*run[\s\S]*types[\s\S]*--token/;
  for (const words of [[], ['--help'], ['dry-run', '-h']]) t.match(await functions(words, {}), { text });
});
