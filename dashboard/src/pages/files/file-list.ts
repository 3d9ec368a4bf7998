/** The files of the installation, page by page, read again when one comes or goes. */
import { keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { request, withQuery } from '../../api/client.ts';
import { useEvents, useSession } from '../../api/live.ts';
import type { FilesSearch } from './route.ts';

/** A file as the server shows it. A policy may hide members, but not from owners. */
export interface ShownFile {
  readonly id: string;
  readonly url: string;
  readonly name: string;
  readonly type: string;
  /** Bytes. */
  readonly size: number;
  readonly sha256: string;
  readonly createdAt: string;
  readonly createdBy: string | null;
  readonly custom: unknown;
}

interface FilePage {
  readonly files: readonly ShownFile[];
  readonly next: string | null;
  /** How many there are in all. */
  readonly count: number;
}

const PAGE = 60;

export function useFiles({ name, type }: FilesSearch) {
  const { state, turn } = useSession();
  const cache = useQueryClient();
  const conditions = {
    ...(name === undefined ? {} : { name: { $icontains: name } }),
    ...(type === undefined ? {} : { type: { $startsWith: type } }),
  };
  const filter = Object.keys(conditions).length === 0 ? undefined : JSON.stringify(conditions);
  const queryKey = ['files', filter, turn];
  useEvents({ types: ['system.file.*'] }, ({ events, missed }) => {
    if (events.length > 0 || missed !== null) void cache.invalidateQueries({ queryKey: ['files'] });
  });
  return useInfiniteQuery({
    queryKey,
    enabled: state !== 'asked',
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor }): Promise<FilePage> => {
      const path = withQuery('/files', { limit: PAGE, sort: '-createdAt', count: 'exact', filter, cursor });
      const { body, headers } = await request<readonly ShownFile[]>('GET', path);
      return { files: body, next: headers.get('millrace-next'), count: Number(headers.get('millrace-count')) };
    },
    getNextPageParam: ({ next }) => next ?? undefined,
    placeholderData: keepPreviousData,
  });
}

const UNITS = ['bytes', 'kB', 'MB', 'GB'] as const;

/** `1.2 MB`; a kB has 1,000 bytes. */
export function sizeText(bytes: number): string {
  const step = bytes < 1_000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1_000 ** step;
  return `${value.toLocaleString('en', { maximumFractionDigits: step === 0 ? 0 : 1 })} ${UNITS[step]}`;
}
