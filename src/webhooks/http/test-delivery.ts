/**
 * The delivery that tries an endpoint out: a sample of a real event, or an event that says that it is a test. Each has an id of
 * its own, so that a receiver never takes it for the event that it looks like. Pure but for the id and the time.
 */
import { newId } from '../../database/json/ids.ts';
import type { Event } from '../../events/log/event.ts';
import type { LogPosition } from '../../events/log/position.ts';
import type { NewDelivery } from '../sending/sender.ts';

/** The type of an event that stands in no log: it is made for a test alone. */
export const TEST_TYPE = 'system.webhook.test';

/**
 * @param sample the event to send; null for one that says that it is a test
 * @param position where the log ends
 */
export function testDelivery(endpoint: string, sample: Event | null, position: LogPosition): NewDelivery {
  const id = `test_${newId().toHexString()}`;
  const event = { ...(sample ?? testEvent(endpoint)), id };
  const body = JSON.stringify(event);
  return { endpoint, event: id, type: event.type, position, document: null, body, trigger: 'test' };
}

function testEvent(endpoint: string): Omit<Event, 'id'> {
  return {
    type: TEST_TYPE,
    timestamp: new Date().toISOString(),
    collection: null,
    documentId: endpoint,
    revision: null,
    changed: null,
    actor: null,
    request: null,
    transaction: null,
    data: { endpoint },
    before: null,
  };
}
