/** Request and response schemas of the webhook routes. */
import Type from 'typebox';
import { nullable, shape, TIME } from '../../openapi/schema.ts';
import { DISABLED_REASONS, HOOKS, ORDERINGS, SCHEDULES } from '../endpoint/endpoint.ts';
import { TYPES } from '../endpoint/endpoint-schema.ts';
import { REPLAY_STATES } from '../planning/replay.ts';
import { DELIVERY_STATES, TRIGGERS } from '../sending/sender.ts';

export const DEFAULT_PAGE = 100;
export const MAX_PAGE = 1_000;
const MAX_GRACE_SECONDS = 7 * 24 * 3_600;

const closed = { additionalProperties: false } as const;
const oneOf = (values: readonly string[], description: string) =>
  Type.Unsafe<string>({ type: 'string', enum: [...values], description });
const position = (description: string) => Type.String({ minLength: 3, maxLength: 40, description });

export const ROTATE = Type.Object(
  {
    graceSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_GRACE_SECONDS,
        default: 86_400,
        description: 'How long the previous secret still signs beside the new one.',
      }),
    ),
  },
  closed,
);

export const TEST = Type.Object(
  {
    type: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description:
          'Send the newest event of this type that the endpoint may see; without it, an event `system.webhook.test`.',
      }),
    ),
  },
  closed,
);

export const RECOVER = Type.Object(
  {
    since: Type.String({
      pattern: '^\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z$',
      description: 'A time (RFC 3339, UTC): deliveries created since then become due.',
    }),
  },
  closed,
);

export const REPLAY = Type.Object(
  {
    since: position('A position: later events are sent.'),
    until: Type.Optional(position('The position of the last event to send; without it, the end of the log.')),
    types: Type.Optional(TYPES),
  },
  closed,
);

const HEALTH = Type.Object({
  breaker: oneOf(['closed', 'open', 'half-open'], '`open`: requests wait, because too many failed.'),
  pending: Type.Integer({ minimum: 0, description: 'Pending deliveries.' }),
  lastSuccessAt: nullable(TIME),
  lastFailureAt: nullable(TIME),
  failingSince: nullable(TIME),
  error: nullable(
    Type.String({ description: 'Why the sending service does not accept the endpoint. Its deliveries wait.' }),
  ),
});

const SHOWN = {
  id: Type.String(),
  name: nullable(Type.String()),
  url: Type.String(),
  types: Type.Array(Type.String()),
  filter: nullable(Type.Object({}, { additionalProperties: true })),
  headers: Type.Record(Type.String(), Type.String(), { description: 'Values are not shown.' }),
  ratePerSecond: nullable(Type.Number()),
  ordering: oneOf(ORDERINGS, 'Whether deliveries of one document wait for each other.'),
  retrySchedule: oneOf(SCHEDULES, 'When a failed delivery is retried.'),
  enabled: Type.Boolean(),
  disabledReason: nullable(oneOf(DISABLED_REASONS, 'Why the endpoint is disabled.')),
  principal: Type.Object({
    kind: oneOf(
      ['admin', 'user', 'key', 'anonymous'],
      'The principal that created it. It receives what this principal may read.',
    ),
    id: Type.String(),
  }),
  via: nullable(oneOf([HOOKS], '`hooks` if an automation service created it by `POST /hooks`.')),
  createdAt: nullable(TIME),
  updatedAt: nullable(TIME),
  health: HEALTH,
};

export const ENDPOINT_SHAPE = shape('WebhookEndpoint', Type.Object(SHOWN));
export const NEW_ENDPOINT_SHAPE = shape(
  'WebhookEndpointWithSecret',
  Type.Object({ ...SHOWN, secret: Type.String({ description: 'The signing secret. It is not shown again.' }) }),
);

export const ROTATED_SHAPE = shape(
  'WebhookSecret',
  Type.Object({
    secret: Type.String({ description: 'The new secret. It is not shown again.' }),
    expires: Type.Array(TIME, { description: 'When the previous secrets stop signing, newest first.' }),
  }),
);

const DELIVERY = {
  id: Type.String(),
  endpoint: Type.String(),
  event: Type.String({ description: 'Id of the event, which is the `webhook-id` of each attempt.' }),
  type: Type.String(),
  state: oneOf(DELIVERY_STATES, '`canceled`: its endpoint was disabled or deleted first.'),
  attempts: Type.Integer({ minimum: 0, description: 'The number of attempts.' }),
  nextAttemptAt: nullable(TIME),
  createdAt: TIME,
  finishedAt: nullable(TIME),
  last: nullable(
    Type.Object(
      { at: TIME, status: nullable(Type.Integer()), error: nullable(Type.String()) },
      { description: 'The last attempt.' },
    ),
  ),
};

export const DELIVERY_SHAPE = shape('WebhookDelivery', Type.Object(DELIVERY));
export const WHOLE_DELIVERY_SHAPE = shape(
  'WebhookDeliveryDetails',
  Type.Object({
    ...DELIVERY,
    body: nullable(Type.String({ description: 'As sent; null when it is no longer stored.' })),
  }),
);

const headers = Type.Record(Type.String(), Type.String());

export const ATTEMPT_SHAPE = shape(
  'WebhookAttempt',
  Type.Object({
    at: TIME,
    durationMs: Type.Number(),
    status: nullable(Type.Integer({ description: 'HTTP status.' })),
    error: nullable(Type.String({ description: 'Why it failed.' })),
    trigger: oneOf(TRIGGERS, 'Why the attempt happened.'),
    request: Type.Object({ headers }, { description: 'Without secrets.' }),
    response: nullable(Type.Object({ headers, body: Type.String() })),
  }),
);

export const COUNT_SHAPE = shape('RecoveryResult', Type.Object({ count: Type.Integer({ minimum: 0 }) }));

export const REPLAY_SHAPE = shape(
  'WebhookReplay',
  Type.Object({
    id: Type.String(),
    endpoint: Type.String(),
    state: oneOf(REPLAY_STATES, '`canceled`: its endpoint was disabled or deleted.'),
    sent: Type.Integer({ minimum: 0, description: 'Deliveries created so far.' }),
    position: Type.String({ description: 'The log position reached.' }),
  }),
);
