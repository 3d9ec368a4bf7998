/** The event types of a subscription are checked when its message is read, as those of a feed are. */
import t from 'tap';
import { MillraceError } from '../../../src/lib/errors.ts';
import { BadMessage, parseClientMessage } from '../../../src/realtime/wire/protocol.ts';

const subscribe = (events: readonly string[]) =>
  parseClientMessage(Buffer.from(JSON.stringify({ type: 'subscribe', id: 's', events })));

t.test('a subscription to a type that no event has is rejected, with the nearest type', async (t) => {
  for (const [type, near] of [
    ['todos.create', 'todos.created'],
    ['system.sesion.created', 'system.session.created'],
    ['system.fil.*', 'system.file.*'],
  ] as const) {
    try {
      subscribe(['todos.*', type]);
      t.fail(type);
    } catch (error) {
      if (!(error instanceof BadMessage)) throw error;
      t.ok(error.issue instanceof MillraceError && error.subscribes && error.id === 's');
      t.match(error.issue, { code: 'invalid-parameter', hint: `Did you mean '${near}'?` }, type);
    }
  }
  t.match(subscribe(['todos.*', 'system.file.*']), {
    type: 'subscribe',
    request: { types: ['todos.*', 'system.file.*'] },
  });
});
