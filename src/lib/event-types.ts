/**
 * The closed table of event types: the resource that a principal must be allowed to read to see events of a type, and
 * the content of such an event. Only types of this table can be recorded. docs/event-types.md is generated from it.
 */

/** Actions on documents and collections. The type of a document's event is `{collection}.{verb}`. */
export const EVENT_VERBS = {
  created: 'a document was created',
  updated: 'a document was changed or replaced',
  deleted: 'a document was deleted',
  dropped: 'the collection was deleted with all of its documents',
  renamed: 'the collection was renamed to `data.to`, or another collection was renamed to its name',
} as const;

export type EventVerb = keyof typeof EVENT_VERBS;

/** The resource that must be readable: all events, the users of others, or files. */
type Audience = '_events' | '_admin:accounts' | '_files';

interface SystemThing {
  readonly thing: string;
  readonly audience: Audience;
  readonly data: string;
  /** Stored fields for internal use. No event has them. */
  readonly internal?: readonly string[];
}

/** The system collections: every change in one of them is an event `system.{thing}.{verb}`. */
export const SYSTEM_COLLECTIONS = {
  _users: {
    thing: 'user',
    audience: '_admin:accounts',
    data: 'The user, without its secrets.',
    internal: ['names', 'skeleton'],
  },
  _sessions: { thing: 'session', audience: '_admin:accounts', data: 'The session, without its tokens.' },
  _keys: { thing: 'key', audience: '_admin:accounts', data: 'The API key, without its secret.' },
  _providers: { thing: 'provider', audience: '_admin:accounts', data: 'The identity provider, without its secrets.' },
  _settings: {
    thing: 'setting',
    audience: '_admin:accounts',
    data: 'A setting of the instance, such as its redirect URLs or an e-mail template.',
  },
  _policies: { thing: 'policy', audience: '_events', data: 'The policy as the administrator wrote it.' },
  _endpoints: {
    thing: 'endpoint',
    audience: '_events',
    data: 'The webhook endpoint, without its secrets and the values of its headers.',
  },
  _plugins: {
    thing: 'plugin',
    audience: '_events',
    data: 'The plugin: its version, whether it is enabled, and the functions in quarantine; without its scripts and secrets.',
  },
  _files: { thing: 'file', audience: '_files', data: 'The file, without its bytes.' },
  _activity: {
    thing: 'activity',
    audience: '_admin:accounts',
    data: 'An event whose type this version does not know.',
  },
} as const satisfies Readonly<Record<`_${string}`, SystemThing>>;

export type SystemCollection = keyof typeof SYSTEM_COLLECTIONS;

/**
 * Occurrences that change no document (database/audit-only-events.ts), with the fields of `data.details`. None is a secret.
 */
export const AUDIT_EVENT_TYPES = {
  'system.auth.failed': {
    audience: '_admin:accounts',
    details: {
      user: 'id of the user; null if no user has that name',
      ip: 'IP address of the client',
      provider: 'name of the identity provider; null for a password, and for a one-time code',
      reason:
        'what failed at the provider or with the code; `second factor` for a wrong code of the second factor, `passkey` for a passkey; null for a password',
    },
  },
  'system.auth.password-changed': {
    audience: '_admin:accounts',
    details: {
      user: 'id of the user',
      method: '`password` with the current password, `email` with a link in an e-mail',
    },
  },
  'system.auth.impersonated': {
    audience: '_admin:accounts',
    details: {
      as: 'the principal that an administrator impersonated: `user:<id>`, `role:<name>`, `key:<id>`, `anonymous`',
    },
  },
  'system.auth.setup-link-created': { audience: '_admin:accounts', details: {} },
  'system.session.revoked': {
    audience: '_admin:accounts',
    details: { session: 'id of the session', user: 'id of its user', reason: 'why the session ended' },
  },
  'system.identity.linked': {
    audience: '_admin:accounts',
    details: { user: 'id of the user', provider: 'name of the provider', subject: 'the user at the provider' },
  },
  'system.identity.unlinked': {
    audience: '_admin:accounts',
    details: { user: 'id of the user', provider: 'name of the provider', subject: 'the user at the provider' },
  },
  'system.mfa.added': {
    audience: '_admin:accounts',
    details: { user: 'id of the user', kind: '`totp` for an authenticator app, or `passkey`' },
  },
  'system.mfa.removed': {
    audience: '_admin:accounts',
    details: { user: 'id of the user', kind: '`totp` for an authenticator app, or `passkey`' },
  },
  'system.mfa.recovery-codes-regenerated': { audience: '_admin:accounts', details: { user: 'id of the user' } },
  'system.mfa.recovery-code-used': {
    audience: '_admin:accounts',
    details: { user: 'id of the user', remaining: 'how many recovery codes are left' },
  },
  'system.signing-keys.rotated': {
    audience: '_admin:accounts',
    details: { key: 'id of the new signing key', revoked: '`yes` if the older keys are no longer valid' },
  },
  'system.endpoint.disabled': {
    audience: '_events',
    details: {
      endpoint: 'id of the webhook endpoint',
      reason:
        '`manual` (a request disabled it), `gone` (its server responded with 410), `failing` (no success for 120 hours), `principal` (the user or key that created it is no longer valid)',
    },
  },
  'system.endpoint.events-replayed': {
    audience: '_events',
    details: { endpoint: 'id of the webhook endpoint', replay: 'id of the replay that started' },
  },
  'system.delivery.failed': {
    audience: '_events',
    details: {
      endpoint: 'id of the webhook endpoint',
      delivery: 'id of the delivery, of which all attempts failed',
      event: 'id of the event that was to be delivered',
      type: 'type of this event',
    },
  },
  'system.run.attempt-failed': {
    audience: '_events',
    details: {
      function: '`plugin/name`',
      run: 'id of the run',
      code: 'code of the error',
      event: 'id of the event of a trigger, or null',
    },
  },
  'system.run.failed': {
    audience: '_events',
    details: {
      function: '`plugin/name`',
      run: 'id of the run, of which all attempts failed',
      code: 'code of the error',
      event: 'id of the event of a trigger, or null',
    },
  },
  'system.run.queued': {
    audience: '_events',
    details: {
      function: '`plugin/name`',
      run: 'id of the run: of a scheduled job, or of a rerun of a trigger, a cron job or a job (the runs that events and schedules start record no such event)',
      at: 'the time for which the job is scheduled; null for a rerun, which starts at once',
    },
  },
  'system.function.replayed': {
    audience: '_events',
    details: {
      function: '`plugin/name` of a trigger',
      runs: 'how many runs were created',
      since: 'the position after which events were replayed to the trigger',
      until: 'the position of the last of these events',
    },
  },
  'system.function.quarantined': {
    audience: '_events',
    details: {
      function: '`plugin/name`',
      reason:
        'how calls of the function ended the process that runs functions, such as `The function used too much memory`',
    },
  },
  'system.event-log.stopped': {
    audience: '_events',
    details: { recorder: 'the process that stopped recording', code: 'error code of the database, or null' },
  },
} as const satisfies Readonly<
  Record<`system.${string}.${string}`, { audience: Audience; details: Readonly<Record<string, string>> }>
>;

export type AuditEventType = keyof typeof AUDIT_EVENT_TYPES;

/** The fields of an occurrence's details. */
export type AuditEventDetails<T extends AuditEventType> = Readonly<
  Record<keyof (typeof AUDIT_EVENT_TYPES)[T]['details'] & string, string | null>
>;

type ThingOf<Type> = Type extends `system.${infer Thing}.${string}` ? Thing : never;
type EventCause = 'deliveries' | 'functions';

/** What causes the events of each thing, if it also receives events. */
const EVENT_CAUSES: Readonly<Record<ThingOf<AuditEventType>, EventCause | null>> = {
  auth: null,
  session: null,
  identity: null,
  mfa: null,
  'signing-keys': null,
  endpoint: null,
  delivery: 'deliveries',
  run: 'functions',
  function: 'functions',
  'event-log': null,
};

/**
 * Beginnings of the types with this cause. A webhook or a trigger gets events that it may have caused only if it names
 * them: otherwise each could cause the next one.
 */
export function eventPrefixesCausedBy(cause: EventCause): readonly string[] {
  return Object.entries(EVENT_CAUSES).flatMap(([thing, one]) => (one === cause ? [`system.${thing}.`] : []));
}

/** Events about the log itself, without a document. */
export const LOG_GAP_EVENT_TYPES = {
  'system.event-log.gap': {
    audience: '_events',
    data: 'The changes between `from` and `to` are unknown; a new epoch begins.',
  },
} as const satisfies Readonly<Record<`system.event-log.${string}`, { audience: Audience; data: string }>>;

type Thing = (typeof SYSTEM_COLLECTIONS)[SystemCollection]['thing'];

/** The types of all events that are not about documents of clients. */
export type SystemEventType = `system.${Thing}.${EventVerb}` | AuditEventType | keyof typeof LOG_GAP_EVENT_TYPES;

export function isSystemCollection(name: string): name is SystemCollection {
  return Object.hasOwn(SYSTEM_COLLECTIONS, name);
}

export function isAuditEventType(type: string): type is AuditEventType {
  return Object.hasOwn(AUDIT_EVENT_TYPES, type);
}

/** Every system type, with the resource that must be readable. */
export const SYSTEM_EVENT_TYPES: ReadonlyMap<string, Audience> = new Map([
  ...Object.values(SYSTEM_COLLECTIONS).flatMap(({ thing, audience }) =>
    Object.keys(EVENT_VERBS).map((verb) => [`system.${thing}.${verb}`, audience] as const),
  ),
  ...Object.entries({ ...AUDIT_EVENT_TYPES, ...LOG_GAP_EVENT_TYPES }).map(
    ([type, { audience }]) => [type, audience] as const,
  ),
]);

/** Event types of users, keys and settings: principals that may read users receive them. */
export const ACCOUNT_EVENT_TYPES: readonly string[] = [...SYSTEM_EVENT_TYPES].flatMap(([type, resource]) =>
  resource === '_admin:accounts' ? [type] : [],
);

/** Actions on single documents, also on those of the system, whose collections nothing here drops or renames. */
const DOCUMENT_VERBS: readonly EventVerb[] = ['created', 'updated', 'deleted'];

/** The system types that this program produces. The others occur when another program drops a collection. */
export const PRODUCED_SYSTEM_TYPES: readonly string[] = [
  ...Object.values(SYSTEM_COLLECTIONS).flatMap(({ thing }) => DOCUMENT_VERBS.map((verb) => `system.${thing}.${verb}`)),
  ...Object.keys(AUDIT_EVENT_TYPES),
  ...Object.keys(LOG_GAP_EVENT_TYPES),
];

const NONE: ReadonlySet<string> = new Set();
const INTERNAL: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries<SystemThing>(SYSTEM_COLLECTIONS).map(([name, { internal }]) => [name, new Set(internal)]),
);

/** Top-level fields of a collection's documents that no event has. */
export function internalFields(collection: string | null): ReadonlySet<string> {
  return (collection === null ? undefined : INTERNAL.get(collection)) ?? NONE;
}
