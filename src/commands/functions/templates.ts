/**
 * The files that `functions new` writes for each kind of function: a manifest and working scripts, small enough to be adapted.
 * Pure.
 */
import type { FunctionKind } from '../../functions/sandbox/sandbox.ts';

export interface PluginTemplate {
  /** Fields of the manifest besides its name. */
  readonly functions: readonly object[];
  /** The scripts by name. */
  readonly scripts: Readonly<Record<string, string>>;
  /** A description for its README. */
  readonly about: string;
  /** Commands that demonstrate it, for a server at this URL. */
  readonly attempts: (url: string) => readonly string[];
}

const JSON_BODY = "-H 'content-type: application/json' -d";
const newTodo = (url: string) => `curl ${url}/api/todos ${JSON_BODY} '{"title":"Buy milk"}'`;

/** @param name of the plugin */
export function createPluginTemplate(kind: FunctionKind, name: string): PluginTemplate {
  const itself = { as: 'function', roles: [name] };
  switch (kind) {
    case 'http':
      return {
        functions: [{ name: 'greet', file: 'greet.ts', http: { method: 'GET', path: `/${name}/:who` } }],
        scripts: {
          'greet.ts': `/** GET /fn/${name}/Ada: greets, and returns how often it has done so. */
export default (async ({ params }, ctx) => {
  const greetings = ctx.documents('greetings');
  await greetings.create({ who: params.who });
  const times = await greetings.count({ who: params.who });
  ctx.log.info('Greeted', params.who, times);
  return { text: \`Hello, \${params.who}!\`, times };
}) satisfies Millrace.Endpoint;
`,
        },
        about: `\`GET /fn/${name}/:who\` greets, and counts in the collection \`greetings\` how often.`,
        attempts: (url) => [`curl ${url}/fn/${name}/Ada`],
      };
    case 'trigger':
      return {
        functions: [{ name: 'follow', file: 'follow.ts', on: ['todos.created'], ...itself }],
        scripts: {
          'follow.ts': `/** Runs after each new document of todos. Its writes are applied once, even if it runs several times. */
export default (async ({ documentId, data }, ctx) => {
  const title = typeof data?.title === 'string' ? data.title : 'without a title';
  ctx.log.info('A new todo:', documentId, title);
  await ctx.documents('notes').create({ todo: documentId, text: \`Remember: \${title}\` });
}) satisfies Millrace.Trigger<'todos'>;
`,
        },
        about: 'After each new document of `todos` it writes one to `notes`.',
        attempts: (url) => [newTodo(url), `curl ${url}/api/notes`],
      };
    case 'cron':
      return {
        functions: [{ name: 'tick', file: 'tick.ts', cron: '* * * * *', timeZone: 'UTC', ...itself }],
        scripts: {
          'tick.ts': `/** Runs every minute, in one process, once for each minute. */
export default (async ({ scheduledAt }, ctx) => {
  const open = await ctx.documents('todos').count({ done: { $ne: true } });
  ctx.log.info(\`At \${scheduledAt} there are \${open} open todos\`);
  await ctx.documents('counts').create({ at: scheduledAt, open });
}) satisfies Millrace.Cron;
`,
        },
        about: 'Every minute it counts the open `todos`, and writes the count to `counts`.',
        attempts: (url) => [`curl '${url}/api/counts?sort=-at&limit=1'`],
      };
    case 'beforeWrite':
      return {
        functions: [
          { name: 'check', file: 'check.ts', beforeWrite: { collections: ['todos'], actions: ['create', 'update'] } },
        ],
        scripts: {
          'check.ts': `/** Checks each todo before it is written: rejects one without a title, and trims the title. */
export default (({ document }) => {
  if (document === null) return;
  const { title } = document;
  if (typeof title !== 'string' || title.trim() === '') {
    throw new Refusal('A todo needs a title', { code: 'no-title', pointer: '/title' });
  }
  return { ...document, title: title.trim() };
}) satisfies Millrace.Before<'todos'>;
`,
        },
        about: 'It checks each write to `todos`: a title is required, and is trimmed.',
        attempts: (url) => [newTodo(url).replace('Buy milk', '  Buy milk '), newTodo(url).replace('Buy milk', ' ')],
      };
    case 'job':
      return {
        functions: [
          { name: 'ask', file: 'ask.ts', http: { method: 'POST', path: `/${name}` } },
          { name: 'remind', file: 'remind.ts', job: true, ...itself },
        ],
        scripts: {
          'ask.ts': `/** POST /fn/${name}: schedules a reminder in ten seconds. */
export default (async ({ body }, ctx) => {
  const { id, at } = await ctx.schedule('remind', { text: String(body?.text ?? 'Look up') }, { after: 10_000 });
  return Response.json({ job: id, at }, { status: 202 });
}) satisfies Millrace.Endpoint<{ text?: unknown } | null>;
`,
          'remind.ts': `/** Runs once for each time that it was scheduled. */
export default (async ({ text }, ctx) => {
  ctx.log.info('Reminder:', text);
  await ctx.documents('reminders').create({ text, at: ctx.now().toISOString() });
}) satisfies Millrace.Job<{ text: string }>;
`,
        },
        about: `\`POST /fn/${name}\` schedules a job that runs ten seconds later and writes to \`reminders\`.`,
        attempts: (url) => [
          `curl ${url}/fn/${name} ${JSON_BODY} '{"text":"Tea is ready"}'`,
          `curl ${url}/api/reminders`,
        ],
      };
  }
}
