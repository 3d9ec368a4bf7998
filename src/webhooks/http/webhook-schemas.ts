/** Request and response schemas of the webhook routes. */
import Type from 'typebox';
import { DATE_TIME_SCHEMA, namedSchema, nullable } from '../../openapi/schema.ts';
import { DELIVERY_ORDERINGS, DISABLED_REASONS, REST_HOOKS_ROUTE, RETRY_SCHEDULES } from '../endpoint/endpoint.ts';
import { EVENT_TYPES_SCHEMA } from '../endpoint/endpoint-schema.ts';
import { REPLAY_STATES } from '../planning/replay-types.ts';
import { ATTEMPT_TRIGGERS, DELIVERY_STATES } from '../sending/sender.ts';

export const DEFAULT_PAGE_SIZE = 100;
export const MAX_PAGE_SIZE = 1_000;
const MAX_GRACE_SECONDS = 7 * 24 * 3_600;

const closed = { additionalProperties: false } as const;
const oneOf = (values: readonly string[], description: string) =>
  Type.Unsafe<string>({ type: 'string', enum: [...values], description });
const position = (description: string) => Type.String({ minLength: 3, maxLength: 40, description });

export const ROTATE_SECRET_BODY = Type.Object(
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

export const TEST_ENDPOINT_BODY = Type.Object(
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

export const RECOVER_BODY = Type.Object(
  {
    since: Type.String({
      pattern: '^\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z$',
      description: 'A time (RFC 3339, UTC): deliveries created since then become due.',
    }),
  },
  closed,
);

export const REPLAY_BODY = Type.Object(
  {
    since: position('A position: later events are sent.'),
    until: Type.Optional(position('The position of the last event to send; without it, the end of the log.')),
    types: Type.Optional(EVENT_TYPES_SCHEMA),
  },
  closed,
);

const HEALTH = Type.Object({
  breaker: oneOf(['closed', 'open', 'half-open'], '`open`: requests wait, because too many failed.'),
  pending: Type.Integer({ minimum: 0, description: 'Pending deliveries.' }),
  lastSuccessAt: nullable(DATE_TIME_SCHEMA),
  lastFailureAt: nullable(DATE_TIME_SCHEMA),
  failingSince: nullable(DATE_TIME_SCHEMA),
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
  ordering: oneOf(DELIVERY_ORDERINGS, 'Whether deliveries of one document wait for each other.'),
  retrySchedule: oneOf(RETRY_SCHEDULES, 'When a failed delivery is retried.'),
  enabled: Type.Boolean(),
  disabledReason: nullable(oneOf(DISABLED_REASONS, 'Why the endpoint is disabled.')),
  principal: Type.Object({
    kind: oneOf(
      ['admin', 'user', 'key', 'anonymous'],
      'The principal that created it. It receives what this principal may read.',
    ),
    id: Type.String(),
  }),
  via: nullable(oneOf([REST_HOOKS_ROUTE], '`hooks` if an automation service created it by `POST /hooks`.')),
  createdAt: nullable(DATE_TIME_SCHEMA),
  updatedAt: nullable(DATE_TIME_SCHEMA),
  health: HEALTH,
};

export const ENDPOINT_SHAPE = namedSchema('WebhookEndpoint', Type.Object(SHOWN));
export const NEW_ENDPOINT_SHAPE = namedSchema(
  'WebhookEndpointWithSecret',
  Type.Object({ ...SHOWN, secret: Type.String({ description: 'The signing secret. It is not shown again.' }) }),
);

export const ROTATED_SECRET_SHAPE = namedSchema(
  'WebhookSecret',
  Type.Object({
    secret: Type.String({ description: 'The new secret. It is not shown again.' }),
    expires: Type.Array(DATE_TIME_SCHEMA, { description: 'When the previous secrets stop signing, newest first.' }),
  }),
);

const DELIVERY = {
  id: Type.String(),
  endpoint: Type.String(),
  event: Type.String({ description: 'Id of the event, which is the `webhook-id` of each attempt.' }),
  type: Type.String(),
  state: oneOf(DELIVERY_STATES, '`canceled`: its endpoint was disabled or deleted first.'),
  attempts: Type.Integer({ minimum: 0, description: 'The number of attempts.' }),
  nextAttemptAt: nullable(DATE_TIME_SCHEMA),
  createdAt: DATE_TIME_SCHEMA,
  finishedAt: nullable(DATE_TIME_SCHEMA),
  last: nullable(
    Type.Object(
      { at: DATE_TIME_SCHEMA, status: nullable(Type.Integer()), error: nullable(Type.String()) },
      { description: 'The last attempt.' },
    ),
  ),
};

export const DELIVERY_SHAPE = namedSchema('WebhookDelivery', Type.Object(DELIVERY));
export const DELIVERY_DETAILS_SHAPE = namedSchema(
  'WebhookDeliveryDetails',
  Type.Object({
    ...DELIVERY,
    body: nullable(Type.String({ description: 'As sent; null when it is no longer stored.' })),
  }),
);

const headers = Type.Record(Type.String(), Type.String());

export const ATTEMPT_SHAPE = namedSchema(
  'WebhookAttempt',
  Type.Object({
    at: DATE_TIME_SCHEMA,
    durationMs: Type.Number(),
    status: nullable(Type.Integer({ description: 'HTTP status.' })),
    error: nullable(Type.String({ description: 'Why it failed.' })),
    trigger: oneOf(ATTEMPT_TRIGGERS, 'Why the attempt happened.'),
    request: Type.Object({ headers }, { description: 'Without secrets.' }),
    response: nullable(Type.Object({ headers, body: Type.String() })),
  }),
);

export const RECOVERY_RESULT_SHAPE = namedSchema(
  'RecoveryResult',
  Type.Object({ count: Type.Integer({ minimum: 0 }) }),
);

export const REPLAY_SHAPE = namedSchema(
  'WebhookReplay',
  Type.Object({
    id: Type.String(),
    endpoint: Type.String(),
    state: oneOf(REPLAY_STATES, '`canceled`: its endpoint was disabled or deleted.'),
    sent: Type.Integer({ minimum: 0, description: 'Deliveries created so far.' }),
    position: Type.String({ description: 'The log position reached.' }),
  }),
);
