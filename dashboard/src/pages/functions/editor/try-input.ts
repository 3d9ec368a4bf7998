/** The input of a dry run: an example for each kind, or a recorded event. Pure. */
import type { LoggedEvent } from '../../../../../client/client.ts';
import type { PluginFunction } from '../parts/responses.ts';

/** A valid input for the function, to be edited. */
export function exampleOf(fn: PluginFunction): unknown {
  switch (fn.kind) {
    case 'http': {
      const path = fn.route?.path.replace(/^\/fn/, '') ?? '/';
      const params = Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name, 'x']));
      const method = fn.route?.methods[0] ?? 'GET';
      return { method, path: path.replaceAll(/:\w+/g, 'x'), params, query: {}, headers: {}, body: null, text: null };
    }
    case 'trigger': {
      const [collection = 'todos', verb = 'created'] = fn.on?.[0]?.split('.') ?? [];
      const location = collection === '*' || collection === 'system' ? 'todos' : collection;
      return {
        id: '1-1',
        type: `${location}.${verb === '*' ? 'created' : verb}`,
        timestamp: new Date().toISOString(),
        collection: location,
        documentId: 'a',
        revision: 1,
        changed: null,
        actor: null,
        request: null,
        transaction: null,
        data: { id: 'a', title: 'Buy milk' },
        before: null,
      };
    }
    case 'cron':
      return { scheduledAt: new Date().toISOString() };
    case 'beforeWrite': {
      const [collection = 'todos'] = fn.beforeWrite?.collections ?? [];
      const action = fn.beforeWrite?.actions[0] ?? 'create';
      const document = { id: 'a', title: 'Buy milk' };
      return {
        action,
        collection: collection === '*' ? 'todos' : collection,
        document: action === 'delete' ? null : document,
        before: action === 'create' ? null : document,
      };
    }
    case 'job':
      return {};
  }
}

/** Types of the events that can become an input; empty where none can. */
export function typesFor(fn: PluginFunction): readonly string[] {
  if (fn.kind === 'trigger') return fn.on ?? [];
  return fn.kind === 'beforeWrite' ? (fn.beforeWrite?.collections.map((name) => `${name}.*`) ?? []) : [];
}

const ACTIONS: Readonly<Record<string, string>> = { created: 'create', updated: 'update', deleted: 'delete' };

/** The event as input of the function: itself, or the write that it reports. */
export function inputOf(fn: PluginFunction, event: LoggedEvent): unknown {
  if (fn.kind !== 'beforeWrite') return event;
  const action = ACTIONS[event.type.split('.').at(-1) ?? ''] ?? 'create';
  return { action, collection: event.collection, document: event.data, before: event.before };
}
