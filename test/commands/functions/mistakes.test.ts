/** Mistakes in the words of `millrace functions` end in one clear line, before anything is asked of a server. */
import t from 'tap';
import { functions } from '../../../src/commands/functions.ts';

t.test('wrong words', async (t) => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['new'], /^NAME is missing; --help shows what there is$/],
    [
      ['push', 'nothing-here'],
      /^There is no plugins\/nothing-here\/plugin\.json\. npm run functions -- new makes a plugin$/,
    ],
    [['pull'], /^NAME is missing/],
    [['logs', 'a', 'b'], /^'b' has no meaning here/],
    [['run', 'invoice'], /^'invoice' is not PLUGIN\/FUNCTION$/],
    [['run', 'a/b/c'], /^'a\/b\/c' is not PLUGIN\/FUNCTION$/],
    [['run', 'a/b', '--input', '{'], /^--input \{: this is not JSON$/],
    [['run', 'a/b', '--as', 'ada'], /^--as ada: this is not anonymous, user:ID or key:ID$/],
    [['run', 'a/b', '--roles', 'x'], /^--roles belongs to --as/],
    [['types', '--kind', 'cron'], /^Unknown option '--kind'\n--help shows what there is$/],
    [['list'], /^'list' is no command: there are new, push, pull, logs, run, types; --help tells more$/],
  ];
  for (const [words, message] of cases) await t.rejects(functions(words, {}), { message }, words.join(' '));
});

t.test('the usage', async (t) => {
  const text = /functions new[\s\S]*push[\s\S]*pull[\s\S]*logs[\s\S]*run[\s\S]*types[\s\S]*--token/;
  for (const words of [[], ['--help'], ['run', '-h']]) t.match(await functions(words, {}), { text });
});
