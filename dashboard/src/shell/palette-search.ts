/** What the palette finds on the server: documents by id, and users by the beginning of their names. */
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { request, withQuery } from '../api/client.ts';
import { useSession } from '../api/live.ts';
import { useRights } from '../api/rights.ts';

export interface FoundDocument {
  readonly collection: string;
  readonly id: string;
}

export interface FoundUser {
  readonly id: string;
  readonly username: string | null;
  readonly email: string | null;
  readonly roles: readonly string[];
}

/** The server is queried this long after the last keystroke, in milliseconds. */
const PAUSE_MS = 250;
/** Shorter texts are the start of a word. */
const SHORTEST = 2;
const LONGEST = 200;
/** Collections in which one id is searched; each costs a request. */
const MOST_COLLECTIONS = 20;
const MAX_USERS = 5;

/**
 * @param typed an id, or a collection and an id: `movies 5f…`, `movies/5f…`
 * @param collections the names of all of them
 */
export function useFound(typed: string, collections: readonly string[]) {
  const [settled] = useDebouncedValue(typed.trim(), PAUSE_MS);
  const { turn } = useSession();
  const { accounts } = useRights();
  const isRequested = settled.length >= SHORTEST && settled.length <= LONGEST;
  const { data: documents = [] } = useQuery({
    queryKey: ['palette documents', settled, collections, turn],
    enabled: isRequested,
    queryFn: async () => {
      const found = await Promise.all(positionsOf(settled, collections).map(lookUp));
      return found.flatMap((one) => one ?? []);
    },
  });
  const { data: people = [] } = useQuery({
    queryKey: ['palette accounts', settled, turn],
    enabled: isRequested && accounts,
    queryFn: async () => {
      const path = withQuery('/admin/users', { search: settled, limit: MAX_USERS });
      return (await request<readonly FoundUser[]>('GET', path)).body;
    },
  });
  return { documents, people };
}

/** Possible locations of a document that the user names. */
function positionsOf(typed: string, collections: readonly string[]): readonly FoundDocument[] {
  const [, collection = '', id = ''] = /^(\S+?)(?:\s+|\/)(.+)$/.exec(typed) ?? [];
  if (collections.includes(collection)) return [{ collection, id }];
  return collections.slice(0, MOST_COLLECTIONS).map((name) => ({ collection: name, id: typed }));
}

/** Null where it does not exist, or is not readable. By a query, because a browser logs each 404 to its console. */
async function lookUp({ collection, id }: FoundDocument): Promise<FoundDocument | null> {
  try {
    const body = { filter: { id }, fields: ['id'], limit: 1 };
    const path = `/api/${encodeURIComponent(collection)}/_query`;
    const [document] = (await request<readonly { readonly id: string }[]>('POST', path, { body })).body;
    return document === undefined ? null : { collection, id: document.id };
  } catch {
    return null;
  }
}
