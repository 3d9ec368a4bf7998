/** What a function gets when it is tried: an example for each kind, or a recorded event. Pure. */
import type { LoggedEvent } from '../../../../../client/client.ts';
import type { PluginFunction } from '../parts/answers.ts';

/** An input that fits the function, to be changed. */
export function exampleOf(fn: PluginFunction): unknown {
  switch (fn.kind) {
    case 'endpoint': {
      const path = fn.route?.path.replace(/^\/fn/, '') ?? '/';
      const params = Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name, 'x']));
      const method = fn.route?.methods[0] ?? 'GET';
      return { method, path: path.replaceAll(/:\w+/g, 'x'), params, query: {}, headers: {}, body: null, text: null };
    }
    case 'trigger': {
      const [collection = 'todos', verb = 'created'] = fn.on?.[0]?.split('.') ?? [];
      const place = collection === '*' || collection === 'system' ? 'todos' : collection;
      return {
        id: '1-1',
        type: `${place}.${verb === '*' ? 'created' : verb}`,
        timestamp: new Date().toISOString(),
        collection: place,
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
    case 'before': {
      const [collection = 'todos'] = fn.before?.collections ?? [];
      const action = fn.before?.actions[0] ?? 'create';
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

/** Types of the events that an input can be made of; empty where none can. */
export function typesFor(fn: PluginFunction): readonly string[] {
  if (fn.kind === 'trigger') return fn.on ?? [];
  return fn.kind === 'before' ? (fn.before?.collections.map((name) => `${name}.*`) ?? []) : [];
}

const ACTIONS: Readonly<Record<string, string>> = { created: 'create', updated: 'update', deleted: 'delete' };

/** The event as the function gets it: itself, or the write that it tells of. */
export function inputOf(fn: PluginFunction, event: LoggedEvent): unknown {
  if (fn.kind !== 'before') return event;
  const action = ACTIONS[event.type.split('.').at(-1) ?? ''] ?? 'create';
  return { action, collection: event.collection, document: event.data, before: event.before };
}
