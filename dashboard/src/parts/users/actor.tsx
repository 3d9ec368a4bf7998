/**
 * The actor of a change by name: the user name or e-mail address of a user, or the name of a key, as a link.
 * Without permission to read users, and for users past the first page of the list, it is a shortened id.
 */
import { useQuery } from '@tanstack/react-query';
import { request, withQuery } from '../../api/client.ts';
import { type LoggedEvent, useSession } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { PageLink } from '../page-link.tsx';
import classes from './actor.module.css';

/** Maximum page size of the lists of users and keys: one request has the names of all actors on a page. */
const LISTED = 1_000;
/** How long names are cached, in milliseconds. */
const RETENTION_MS = 30_000;
/** A longer id is shortened to its start, which distinguishes ids well enough. */
const SHORT = 12;

interface ActorProps {
  /** `user`, `owner`, `key` or `function`; null where only the id is known. */
  readonly kind: string | null;
  readonly id: string;
  /** Only text, for positions within a button. */
  readonly plain?: boolean;
}

export function Actor({ kind, id, plain = false }: ActorProps) {
  const accounts = useNames('/admin/users', kind === null || kind === 'user' || kind === 'admin');
  const keys = useNames('/admin/keys', kind === null || kind === 'key');
  const isKey = kind === 'key' || keys?.has(id) === true;
  const name = accounts?.get(id) ?? keys?.get(id);
  const title = [kind, id].filter((part) => part !== null && part !== '').join(' ');
  const words = (
    <span title={title}>
      {kind === null || kind === 'user' ? null : `${kind} `}
      {name ?? (id.length > SHORT ? `${id.slice(0, SHORT)}…` : id)}
    </span>
  );
  if (plain || name === undefined) return words;
  if (isKey) {
    return (
      <PageLink to="/keys" className={classes.link ?? ''} inherit>
        {words}
      </PageLink>
    );
  }
  return (
    <PageLink to="/users" search={{ user: id }} className={classes.link ?? ''} inherit>
      {words}
    </PageLink>
  );
}

/** @param text the stored form of an actor: `user:u1` */
export function ActorText({ text }: { readonly text: string }) {
  const end = text.indexOf(':');
  return end === -1 ? <Actor kind={null} id={text} /> : <Actor kind={text.slice(0, end)} id={text.slice(end + 1)} />;
}

/** The actor of an event. */
export function ActorOfEvent({ event, plain = false }: { readonly event: LoggedEvent; readonly plain?: boolean }) {
  const { actor, request: requested } = event;
  if (actor !== null) return <Actor kind={actor.kind} id={actor.id} plain={plain} />;
  return <>{requested === null ? 'another program' : 'anonymous'}</>;
}

interface Named {
  readonly id: string;
  readonly name?: string;
  readonly username?: string | null;
  readonly email?: string | null;
}

/** Names by id, with the right to read them and only where one is shown. */
function useNames(list: '/admin/users' | '/admin/keys', requested: boolean): ReadonlyMap<string, string> | undefined {
  const { turn } = useSession();
  const { accounts } = useRights();
  const { data } = useQuery({
    queryKey: ['names', list, turn],
    enabled: requested && accounts,
    staleTime: RETENTION_MS,
    queryFn: async () => {
      const { body } = await request<readonly Named[]>('GET', withQuery(list, { limit: LISTED }));
      return new Map(body.map(({ id, name, username, email }) => [id, name ?? username ?? email ?? id]));
    },
  });
  return data;
}
