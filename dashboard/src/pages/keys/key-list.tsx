/** The list of API keys. */
import { Badge, Button, Code, Group, Table } from '@mantine/core';
import { useState } from 'react';
import { request, withQuery } from '../../api/client.ts';
import { useListPage } from '../../api/live.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { curl } from '../../parts/curl-command.ts';
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
  readonly resources: readonly string[] | null;
  readonly actions: readonly string[] | null;
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

interface KeyListProps {
  readonly cursor: string | undefined;
  readonly change: (next: KeysSearch) => void;
}

const ROWS = 100;
/** The use of a key causes no event, so the list is requested again at this interval, in milliseconds. */
const AGAIN_MS = 15_000;

export function KeyList({ cursor, change }: KeyListProps) {
  const { data, error, refetch } = useListPage<ListedKey>(
    withQuery('/admin/keys', { limit: ROWS, cursor }),
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
          title="No API keys yet"
          command={curl('/admin/keys', { name: 'nightly import', actions: ['read', 'create'] })}
        >
          Programs without a signed-in user authenticate with an API key. Create one with the button above or with this
          request.
        </Empty>
      ) : (
        <DataTable
          label="API keys"
          columns={['Key', 'Roles', 'Resources', 'Actions', 'Last used', 'Expires', { hidden: 'Revoke' }]}
        >
          {data.items.map((key) => (
            <Table.Tr key={key.id}>
              <Table.Td>
                <PageLink
                  to="/policies"
                  search={{ view: 'matrix', as: `key:${key.id}` }}
                  size="sm"
                  display="block"
                  title="Show what policies allow this key"
                >
                  {key.name}
                </PageLink>
                <Code>{key.prefix}…</Code>
              </Table.Td>
              <Table.Td miw={110}>
                <Names names={key.roles} none="none" />
              </Table.Td>
              <Table.Td>
                <Names names={key.resources} none="all" />
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
        {cursor === undefined ? null : (
          <Button variant="default" size="xs" onClick={() => change({ cursor: undefined })}>
            First page
          </Button>
        )}
        {data.next === null ? null : (
          <Button variant="default" size="xs" onClick={() => change({ cursor: data.next ?? undefined })}>
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
          Requests with this key are rejected at once, and its open connections end. This cannot be undone. Last used:{' '}
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
