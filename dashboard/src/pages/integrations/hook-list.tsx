/**
 * The hooks that automation services have created, live, and the removal of one. Each is an endpoint of the page
 * Webhooks.
 */
import { Button, Code, Stack, Table, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { Actor } from '../../parts/users/actor.tsx';
import { When } from '../../parts/when.tsx';
import { HealthBadge } from '../webhooks/parts/health.tsx';
import type { Endpoint } from '../webhooks/parts/webhook-api-types.ts';

/** Health changes with every attempt, and no event reports it. */
const HEALTH_MS = 3_000;

export function HookList() {
  const { build, why } = useRights();
  const [removed, setRemoved] = useState<Endpoint | null>(null);
  const { data, error, refetch } = useResource<readonly Endpoint[]>(
    '/webhooks/endpoints',
    ['system.endpoint.*'],
    HEALTH_MS,
  );
  const hooks = data?.filter(({ via }) => via === 'hooks');
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Active hooks
      </Title>
      {error === null ? null : <Failure error={error} again={() => void refetch()} />}
      {hooks === undefined ? error === null && <Loading rows={2} /> : null}
      {hooks?.length === 0 ? (
        <Text size="sm">
          None yet. A hook appears here when a service subscribes, and disappears when its workflow is turned off.
        </Text>
      ) : null}
      {hooks === undefined || hooks.length === 0 ? null : (
        <DataTable
          label="Hooks"
          columns={['Target', 'Events', 'Key or user', 'Health', 'Created', { hidden: 'Remove' }]}
        >
          {hooks.map((hook) => (
            <Table.Tr key={hook.id}>
              <Table.Td maw={320}>
                <PageLink to="/webhooks" search={{ endpoint: hook.id }} size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {hook.url}
                </PageLink>
              </Table.Td>
              <Table.Td>
                <Code>{hook.types.join(', ')}</Code>
                {hook.filter === null ? null : (
                  <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                    {JSON.stringify(hook.filter)}
                  </Text>
                )}
              </Table.Td>
              <Table.Td>
                {hook.principal.kind === 'anonymous' ? (
                  'anonymous clients'
                ) : (
                  <Actor kind={hook.principal.kind} id={hook.principal.id} />
                )}
              </Table.Td>
              <Table.Td>
                <HealthBadge endpoint={hook} />
              </Table.Td>
              <Table.Td>
                <When at={hook.createdAt} />
              </Table.Td>
              <Table.Td>
                <Button
                  size="xs"
                  variant="default"
                  aria-label={`Remove the hook to ${hook.url}`}
                  disabled={!build}
                  title={build ? undefined : why}
                  onClick={() => setRemoved(hook)}
                >
                  Remove
                </Button>
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
      {removed === null ? null : (
        <Confirm
          title="Remove hook"
          verb="Remove"
          onConfirm={() => request('DELETE', `/hooks/${encodeURIComponent(removed.id)}`)}
          onClose={() => setRemoved(null)}
        >
          No more events are sent to {removed.url}. The service is not notified: its workflow gets no events until it is
          turned off and on again there.
        </Confirm>
      )}
    </Stack>
  );
}
