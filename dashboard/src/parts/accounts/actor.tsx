/**
 * Who did something, by the name that people know: the account's user name or e-mail address, or the key's name, as a link.
 * People who may not read accounts, and accounts past the first page of the list, are shown by a shortened id.
 */
import { useQuery } from '@tanstack/react-query';
import { request, withQuery } from '../../api/client.ts';
import { type LoggedEvent, useSession } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { PageLink } from '../page-link.tsx';
import classes from './actor.module.css';

/** The longest page that the lists of accounts and keys have: one request names all actors of a page. */
const LISTED = 1_000;
/** How long names are kept before they are asked for again, in milliseconds. */
const KEPT_MS = 30_000;
/** An id that is longer is shortened to its beginning, which tells ids apart well enough. */
const SHORT = 12;

interface ActorProps {
  /** `user`, `owner`, `key` or `function`; null where only the id is known. */
  readonly kind: string | null;
  readonly id: string;
  /** Only text, for places within a button. */
  readonly plain?: boolean;
}

export function Actor({ kind, id, plain = false }: ActorProps) {
  const accounts = useNames('/admin/users', kind === null || kind === 'user' || kind === 'owner');
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

/** @param text as changes keep their actor: `user:u1` */
export function ActorText({ text }: { readonly text: string }) {
  const end = text.indexOf(':');
  return end === -1 ? <Actor kind={null} id={text} /> : <Actor kind={text.slice(0, end)} id={text.slice(end + 1)} />;
}

/** Who made the change that an event tells. */
export function ActorOfEvent({ event, plain = false }: { readonly event: LoggedEvent; readonly plain?: boolean }) {
  const { actor, request: asked } = event;
  if (actor !== null) return <Actor kind={actor.kind} id={actor.id} plain={plain} />;
  return <>{asked === null ? 'another program' : 'nobody signed in'}</>;
}

interface Named {
  readonly id: string;
  readonly name?: string;
  readonly username?: string | null;
  readonly email?: string | null;
}

/** Names by id, for those who may read them and only where one is shown. */
function useNames(list: '/admin/users' | '/admin/keys', wanted: boolean): ReadonlyMap<string, string> | undefined {
  const { turn } = useSession();
  const { accounts } = useRights();
  const { data } = useQuery({
    queryKey: ['names', list, turn],
    enabled: wanted && accounts,
    staleTime: KEPT_MS,
    queryFn: async () => {
      const { body } = await request<readonly Named[]>('GET', withQuery(list, { limit: LISTED }));
      return new Map(body.map(({ id, name, username, email }) => [id, name ?? username ?? email ?? id]));
    },
  });
  return data;
}
