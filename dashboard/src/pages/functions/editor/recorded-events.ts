/** The newest events of the log, as inputs of a dry run. */
import { useQuery } from '@tanstack/react-query';
import type { LoggedEvent } from '../../../../../client/client.ts';
import { request, withQuery } from '../../../api/client.ts';
import { useSession } from '../../../api/live.ts';

/** Rows of the log that are searched, from its end. */
const ROWS = 900;
const MOST = 50;

interface ServerState {
  readonly events: { readonly log: { readonly newest: string | null; readonly floor: number } };
}

/** The newest first. @param types patterns; none for no events */
export function useRecordedEvents(types: readonly string[]): readonly LoggedEvent[] {
  const { turn } = useSession();
  const { data = [] } = useQuery({
    queryKey: ['recorded events', turn, ...types],
    enabled: types.length > 0,
    queryFn: async () => {
      const { body: state } = await request<ServerState>('GET', '/admin/status');
      const { newest, floor } = state.events.log;
      const [epoch, end] = newest?.split('-') ?? [];
      if (epoch === undefined || end === undefined) return [];
      const since = `${epoch}-${Math.max(Number(end) - ROWS, floor - 1, 0)}`;
      const path = withQuery('/events', { since, types: types.join(','), limit: ROWS });
      const { body } = await request<{ readonly events: readonly LoggedEvent[] }>('GET', path);
      return body.events.slice(-MOST).reverse();
    },
  });
  return data;
}
