/**
 * A delivery that tests an endpoint: a sample of a real event, or a test event. It has an id of its own, so that a
 * receiver does not take it for the original event. Pure, except for the id and the time.
 */
import { newId } from '../../database/json/ids.ts';
import type { Event } from '../../events/log/event.ts';
import type { LogPosition } from '../../events/log/position.ts';
import type { NewDelivery } from '../sending/sender.ts';

/** The type of the test event, which is not in the log. */
export const TEST_EVENT_TYPE = 'system.webhook.test';

/**
 * @param sample the event to send; null for the test event
 * @param position the end of the log
 */
export function createTestDelivery(endpoint: string, sample: Event | null, position: LogPosition): NewDelivery {
  const id = `test_${newId().toHexString()}`;
  const event = { ...(sample ?? testEvent(endpoint)), id };
  const body = JSON.stringify(event);
  return { endpoint, event: id, type: event.type, position, document: null, body, trigger: 'test' };
}

function testEvent(endpoint: string): Omit<Event, 'id'> {
  return {
    type: TEST_EVENT_TYPE,
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
