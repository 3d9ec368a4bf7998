/** What the palette finds on the server: documents by their id, and accounts by how their names begin. */
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { request, withQuery } from '../api/client.ts';
import { useSession } from '../api/live.ts';
import { useRights } from '../api/rights.ts';

export interface FoundDocument {
  readonly collection: string;
  readonly id: string;
}

export interface FoundAccount {
  readonly id: string;
  readonly username: string | null;
  readonly email: string | null;
  readonly roles: readonly string[];
}

/** A pause in typing, in milliseconds, after which the server is asked. */
const PAUSE_MS = 250;
/** Shorter texts are the beginning of a word. */
const SHORTEST = 2;
const LONGEST = 200;
/** Collections that one id is looked for in; each costs a request. */
const MOST_COLLECTIONS = 20;
const MOST_ACCOUNTS = 5;

/**
 * @param typed an id, or a collection and an id: `movies 5f…`, `movies/5f…`
 * @param collections the names of all of them
 */
export function useFound(typed: string, collections: readonly string[]) {
  const [settled] = useDebouncedValue(typed.trim(), PAUSE_MS);
  const { turn } = useSession();
  const { accounts } = useRights();
  const isAsked = settled.length >= SHORTEST && settled.length <= LONGEST;
  const { data: documents = [] } = useQuery({
    queryKey: ['palette documents', settled, collections, turn],
    enabled: isAsked,
    queryFn: async () => {
      const found = await Promise.all(placesOf(settled, collections).map(lookUp));
      return found.flatMap((one) => one ?? []);
    },
  });
  const { data: people = [] } = useQuery({
    queryKey: ['palette accounts', settled, turn],
    enabled: isAsked && accounts,
    queryFn: async () => {
      const path = withQuery('/admin/users', { search: settled, limit: MOST_ACCOUNTS });
      return (await request<readonly FoundAccount[]>('GET', path)).body;
    },
  });
  return { documents, people };
}

/** Where a document may be that somebody names. */
function placesOf(typed: string, collections: readonly string[]): readonly FoundDocument[] {
  const [, collection = '', id = ''] = /^(\S+?)(?:\s+|\/)(.+)$/.exec(typed) ?? [];
  if (collections.includes(collection)) return [{ collection, id }];
  return collections.slice(0, MOST_COLLECTIONS).map((name) => ({ collection: name, id: typed }));
}

/** Null where it is not, or cannot be read. By a query, because a browser tells of each 404 in its console. */
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
