/** The list of API keys. */
import { Badge, Button, Code, Group, Table } from '@mantine/core';
import { useState } from 'react';
import { request, withQuery } from '../../api/client.ts';
import { useListPage } from '../../api/live.ts';
import { curl } from '../../parts/command.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { When } from '../../parts/when.tsx';
import type { KeysSearch } from './route.ts';

/** A key as `/admin/keys` lists it. */
interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly roles: readonly string[];
  /** Null for no limit. */
  readonly collections: readonly string[] | null;
  readonly actions: readonly string[] | null;
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

interface KeyListProps {
  readonly after: string | undefined;
  readonly change: (next: KeysSearch) => void;
}

const ROWS = 100;
/** The use of a key makes no event, so the list is asked for again after so long, in milliseconds. */
const AGAIN_MS = 15_000;

export function KeyList({ after, change }: KeyListProps) {
  const { data, error, refetch } = useListPage<ListedKey>(
    withQuery('/admin/keys', { limit: ROWS, after }),
    ['system.key.*'],
    AGAIN_MS,
  );
  const [revoked, setRevoked] = useState<ListedKey | null>(null);
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  return (
    <>
      {data.items.length === 0 ? (
        <Empty
          title="There are no keys yet"
          command={curl('/admin/keys', { name: 'nightly import', actions: ['read', 'create'] })}
        >
          A program that has no person in front of it signs its requests with a key. Make one with the button above, or
          by this request.
        </Empty>
      ) : (
        <DataTable
          label="API keys"
          columns={['Key', 'Roles', 'Places', 'Actions', 'Last used', 'Ends', { hidden: 'Revoke' }]}
        >
          {data.items.map((key) => (
            <Table.Tr key={key.id}>
              <Table.Td>
                <PageLink
                  to="/policies"
                  search={{ view: 'matrix', as: `key:${key.id}` }}
                  size="sm"
                  display="block"
                  title="What policies allow this key"
                >
                  {key.name}
                </PageLink>
                <Code>{key.prefix}…</Code>
              </Table.Td>
              <Table.Td miw={110}>
                <Names names={key.roles} none="none" />
              </Table.Td>
              <Table.Td>
                <Names names={key.collections} none="all" />
              </Table.Td>
              <Table.Td>
                <Names names={key.actions} none="all" />
              </Table.Td>
              <Table.Td>
                <When at={key.lastUsedAt} />
              </Table.Td>
              <Table.Td>
                <Ends at={key.expiresAt} />
              </Table.Td>
              <Table.Td>
                <Button size="xs" variant="default" aria-label={`Revoke ${key.name}`} onClick={() => setRevoked(key)}>
                  Revoke
                </Button>
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
      <Group>
        {after === undefined ? null : (
          <Button variant="default" size="xs" onClick={() => change({ after: undefined })}>
            First page
          </Button>
        )}
        {data.next === null ? null : (
          <Button variant="default" size="xs" onClick={() => change({ after: data.next ?? undefined })}>
            Next page
          </Button>
        )}
      </Group>
      {revoked === null ? null : (
        <Confirm
          title={`Revoke ${revoked.name}`}
          verb="Revoke"
          onConfirm={() => request('DELETE', `/admin/keys/${encodeURIComponent(revoked.id)}`)}
          onClose={() => setRevoked(null)}
        >
          Programs with this key are refused at once, and their open connections end. This cannot be undone. Last used:{' '}
          <When at={revoked.lastUsedAt} />.
        </Confirm>
      )}
    </>
  );
}

function Names({ names, none }: { readonly names: readonly string[] | null; readonly none: string }) {
  if (names === null || names.length === 0) return none;
  return (
    <Group gap={4}>
      {names.map((name) => (
        <Badge key={name} variant="default">
          {name}
        </Badge>
      ))}
    </Group>
  );
}

function Ends({ at }: { readonly at: string | null }) {
  if (at !== null && Date.parse(at) <= Date.now()) {
    return (
      <Badge variant="outline" color="red">
        Expired
      </Badge>
    );
  }
  return <When at={at} />;
}
