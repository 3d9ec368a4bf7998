/** Triggers for documents: created, updated, deleted. Each is a REST hook for the event of that name of the chosen collection. */
import { type Bundle, defineTrigger, type ZObject } from 'zapier-platform-core';
import { call } from '../api/requests.ts';
import { COLLECTION_FIELD, FILTER_FIELD } from '../fields/choices.ts';
import { withFiles } from '../fields/files.ts';
import { documentFields } from '../fields/output-fields.ts';
import { arrived, type HookEvent, subscribe, unsubscribe } from './hooks.ts';

const WORDS = {
  created: { label: 'Document Created', description: 'Triggers when a new document is created in a collection.' },
  updated: { label: 'Document Updated', description: 'Triggers when a document of a collection is changed.' },
  deleted: { label: 'Document Deleted', description: 'Triggers when a document of a collection is deleted.' },
} as const;

export type Verb = keyof typeof WORDS;

/** The field of an event that contains the document: of a deleted one, the state before. */
const STATE = { created: 'data', updated: 'data', deleted: 'before' } as const;

const DOCUMENT = {
  id: 'soup',
  title: 'Cook soup',
  _meta: { revision: 1, createdAt: '2026-01-05T08:00:00.000Z', updatedAt: '2026-01-05T08:00:00.000Z' },
};

export function documentTrigger(verb: Verb) {
  const typeOf = ({ inputData }: Bundle) => `${inputData['collection']}.${verb}`;

  const shown = (z: ZObject, bundle: Bundle, event: HookEvent) => ({
    ...event,
    ...(event.data === null ? {} : { data: withFiles(z, bundle, event.data) }),
    ...(event.before === null ? {} : { before: withFiles(z, bundle, event.before) }),
  });

  /** The document of an event that was too large for its delivery; null if it was deleted meanwhile. */
  const fetched = async (z: ZObject, { collection, documentId }: HookEvent) => {
    const { status, data } = await call(z, ['api', collection ?? '', documentId ?? ''], { tolerated: [404] });
    return status === 200 ? data : null;
  };

  const perform = async (z: ZObject, bundle: Bundle) => {
    const event = arrived(bundle);
    const whole = event.truncated && verb !== 'deleted' ? { ...event, data: await fetched(z, event) } : event;
    return [shown(z, bundle, whole)];
  };

  const performList = async (z: ZObject, bundle: Bundle) => {
    const path = ['api', String(bundle.inputData['collection']), '_samples'];
    const { status, data } = await call(z, path, { query: { eventType: typeOf(bundle) }, tolerated: [404] });
    const samples: readonly HookEvent[] = status === 200 ? data : [];
    return samples.map((event) => shown(z, bundle, event));
  };

  return defineTrigger({
    key: `document_${verb}`,
    noun: 'Document',
    display: WORDS[verb],
    operation: {
      type: 'hook',
      inputFields: [COLLECTION_FIELD, FILTER_FIELD],
      perform,
      performList,
      performSubscribe: (z: ZObject, bundle: Bundle) => subscribe(z, bundle, typeOf(bundle)),
      performUnsubscribe: unsubscribe,
      outputFields: [
        { key: 'id', label: 'Event ID', type: 'string', primary: true },
        { key: 'type', label: 'Event Type', type: 'string' },
        { key: 'timestamp', label: 'Time', type: 'datetime' },
        { key: 'documentId', label: 'Document ID', type: 'string' },
        documentFields(STATE[verb]),
      ],
      sample: {
        id: '1-3469',
        type: `todos.${verb}`,
        timestamp: '2026-01-05T08:00:00.000Z',
        collection: 'todos',
        documentId: 'soup',
        revision: 1,
        changed: verb === 'updated' ? ['title'] : null,
        actor: null,
        data: verb === 'deleted' ? null : DOCUMENT,
        before: verb === 'created' ? null : DOCUMENT,
      },
    },
  });
}
