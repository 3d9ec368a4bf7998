/**
 * The closed table of event types: the place that a principal must be allowed to read to see events of a type, and what
 * an event of it holds. A type that is not here cannot be recorded. docs/event-types.md is made from this table. Not
 * here: which row of the log is an event of which type (events/log/event.ts).
 */

/** What happens to documents and to collections. The type of a document's event is `{collection}.{verb}`. */
export const VERBS = {
  created: 'a new document',
  updated: 'a document was changed or replaced',
  deleted: 'a document was deleted',
  dropped: 'the collection was deleted with all of its documents',
  renamed: 'the collection got the name `data.to`, or another collection got its name',
} as const;

export type Verb = keyof typeof VERBS;

/** The place that must be readable: all events, the accounts of others, or files. */
type Audience = 'events' | 'admin:accounts' | 'files';

interface SystemThing {
  readonly thing: string;
  readonly audience: Audience;
  readonly data: string;
  /** Stored members that only the program itself uses. No event has them. */
  readonly internal?: readonly string[];
}

/** The collections of the system: every change in one of them is an event `system.{thing}.{verb}`. */
export const SYSTEM_COLLECTIONS = {
  _users: {
    thing: 'user',
    audience: 'admin:accounts',
    data: 'The account, without its secrets.',
    internal: ['names', 'skeleton'],
  },
  _sessions: { thing: 'session', audience: 'admin:accounts', data: 'The session, without its tokens.' },
  _keys: { thing: 'key', audience: 'admin:accounts', data: 'The API key, without its secret.' },
  _providers: { thing: 'provider', audience: 'admin:accounts', data: 'The identity provider, without its secrets.' },
  _settings: { thing: 'setting', audience: 'admin:accounts', data: 'What owners set for the installation.' },
  _policies: { thing: 'policy', audience: 'events', data: 'The policy as its owner wrote it.' },
  _endpoints: {
    thing: 'endpoint',
    audience: 'events',
    data: 'The webhook endpoint, without its secrets and the values of its headers.',
  },
  _plugins: {
    thing: 'plugin',
    audience: 'events',
    data: 'The plugin: its version, whether it is enabled, and the functions in quarantine; without its scripts and secrets.',
  },
  _files: { thing: 'file', audience: 'files', data: 'The file, without its bytes.' },
  _activity: {
    thing: 'activity',
    audience: 'admin:accounts',
    data: 'An occurrence whose type this version does not know.',
  },
} as const satisfies Readonly<Record<`_${string}`, SystemThing>>;

export type SystemCollection = keyof typeof SYSTEM_COLLECTIONS;

/** Occurrences that change no document (database/activity.ts), with the members of `data.details`. None is a secret. */
export const OCCURRENCES = {
  'system.auth.failed': {
    audience: 'admin:accounts',
    details: {
      user: 'id of the account; null if there is none of that name',
      address: 'address of the client',
      provider: 'name of the identity provider; null for a password, and for a one-time code',
      reason:
        'what was wrong at the provider or with the code, `second factor` for its code, `passkey` for one; null for a password',
    },
  },
  'system.auth.password-changed': {
    audience: 'admin:accounts',
    details: { user: 'id of the account', how: '`known` with the old password, `by-mail` with a link' },
  },
  'system.auth.looked-as': {
    audience: 'admin:accounts',
    details: {
      as: 'the principal whose answers an owner asked for: `user:<id>`, `role:<name>`, `key:<id>`, `anonymous`',
    },
  },
  'system.auth.setup-link': { audience: 'admin:accounts', details: {} },
  'system.session.revoked': {
    audience: 'admin:accounts',
    details: { session: 'id of the session', user: 'id of its account', reason: 'why it ended' },
  },
  'system.identity.joined': {
    audience: 'admin:accounts',
    details: { user: 'id of the account', provider: 'name of the provider', subject: 'the user at the provider' },
  },
  'system.identity.removed': {
    audience: 'admin:accounts',
    details: { user: 'id of the account', provider: 'name of the provider', subject: 'the user at the provider' },
  },
  'system.factor.added': {
    audience: 'admin:accounts',
    details: { user: 'id of the account', kind: '`totp` for an authenticator app, or `passkey`' },
  },
  'system.factor.removed': {
    audience: 'admin:accounts',
    details: { user: 'id of the account', kind: '`totp` for an authenticator app, or `passkey`' },
  },
  'system.factor.codes-renewed': { audience: 'admin:accounts', details: { user: 'id of the account' } },
  'system.factor.code-used': {
    audience: 'admin:accounts',
    details: { user: 'id of the account', left: 'how many recovery codes are left' },
  },
  'system.key-ring.rotated': {
    audience: 'admin:accounts',
    details: { key: 'id of the new signing key', dropped: '`yes` if the older keys are no longer valid' },
  },
  'system.endpoint.disabled': {
    audience: 'events',
    details: {
      endpoint: 'id of the webhook endpoint',
      reason: '`owner`, `gone` (its server answered 410), `failing`, `principal` (what made it has ended)',
    },
  },
  'system.endpoint.replayed': {
    audience: 'events',
    details: { endpoint: 'id of the webhook endpoint', replay: 'id of the replay that begins' },
  },
  'system.delivery.dead': {
    audience: 'events',
    details: {
      endpoint: 'id of the webhook endpoint',
      delivery: 'id of the delivery, of which all tries failed',
      event: 'id of the event that was to be delivered',
      type: 'its type',
    },
  },
  'system.function.failed': {
    audience: 'events',
    details: {
      function: '`plugin/name`',
      run: 'id of the run',
      code: 'code of the error',
      event: 'id of the event of a trigger, or null',
    },
  },
  'system.function.parked': {
    audience: 'events',
    details: {
      function: '`plugin/name`',
      run: 'id of the run, of which all attempts failed',
      code: 'code of the error',
      event: 'id of the event of a trigger, or null',
    },
  },
  'system.function.scheduled': {
    audience: 'events',
    details: {
      function: '`plugin/name`',
      run: 'id of the run',
      at: 'when it is to begin; null for the repetition of a run, which begins at once',
    },
  },
  'system.function.replayed': {
    audience: 'events',
    details: {
      function: '`plugin/name` of a trigger',
      runs: 'how many runs were made',
      since: 'the position after which events were given to it once more',
      until: 'the position of the last one',
    },
  },
  'system.function.quarantined': {
    audience: 'events',
    details: { function: '`plugin/name`', reason: 'what its calls did to the process that runs them' },
  },
  'system.log.refused': {
    audience: 'events',
    details: { recorder: 'the process that stopped recording', code: 'error code of the database, or null' },
  },
} as const satisfies Readonly<
  Record<`system.${string}.${string}`, { audience: Audience; details: Readonly<Record<string, string>> }>
>;

export type Occurrence = keyof typeof OCCURRENCES;

/** The members that the details of an occurrence have. */
export type DetailsOf<T extends Occurrence> = Readonly<
  Record<keyof (typeof OCCURRENCES)[T]['details'] & string, string | null>
>;

/** What the event log says of itself, without a document. */
export const LOG_EVENTS = {
  'system.log.gap': {
    audience: 'events',
    data: 'The changes between `from` and `to` are unknown; a new epoch begins.',
  },
} as const satisfies Readonly<Record<`system.log.${string}`, { audience: Audience; data: string }>>;

type Thing = (typeof SYSTEM_COLLECTIONS)[SystemCollection]['thing'];

/** The types of all events that are not about documents of clients. */
export type SystemType = `system.${Thing}.${Verb}` | Occurrence | keyof typeof LOG_EVENTS;

export function isSystemCollection(name: string): name is SystemCollection {
  return Object.hasOwn(SYSTEM_COLLECTIONS, name);
}

export function isOccurrence(type: string): type is Occurrence {
  return Object.hasOwn(OCCURRENCES, type);
}

/** Every type of the system, with the place that must be readable. */
export const SYSTEM_TYPES: ReadonlyMap<string, Audience> = new Map([
  ...Object.values(SYSTEM_COLLECTIONS).flatMap(({ thing, audience }) =>
    Object.keys(VERBS).map((verb) => [`system.${thing}.${verb}`, audience] as const),
  ),
  ...Object.entries({ ...OCCURRENCES, ...LOG_EVENTS }).map(([type, { audience }]) => [type, audience] as const),
]);

/** The types of events of accounts, keys and settings: those who may read accounts get them. */
export const ACCOUNT_TYPES: readonly string[] = [...SYSTEM_TYPES].flatMap(([type, place]) =>
  place === 'admin:accounts' ? [type] : [],
);

/** What happens to single documents, also to those of the system, whose collections nothing here drops or renames. */
const DOCUMENT_VERBS: readonly Verb[] = ['created', 'updated', 'deleted'];

/** The types of the system that this program makes events of. The others are made when another program drops a collection. */
export const USUAL_SYSTEM_TYPES: readonly string[] = [
  ...Object.values(SYSTEM_COLLECTIONS).flatMap(({ thing }) => DOCUMENT_VERBS.map((verb) => `system.${thing}.${verb}`)),
  ...Object.keys(OCCURRENCES),
  ...Object.keys(LOG_EVENTS),
];

const NONE: ReadonlySet<string> = new Set();
const INTERNAL: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries<SystemThing>(SYSTEM_COLLECTIONS).map(([name, { internal }]) => [name, new Set(internal)]),
);

/** Top-level members of the documents of a collection that no event has. */
export function internalMembers(collection: string | null): ReadonlySet<string> {
  return (collection === null ? undefined : INTERNAL.get(collection)) ?? NONE;
}
