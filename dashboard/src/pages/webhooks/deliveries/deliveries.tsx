/** Deliveries, the newest first, by endpoint, state and type. */
import { Group, Select, Stack, Table, Text, Title } from '@mantine/core';
import { withQuery } from '../../../api/client.ts';
import { useListPage } from '../../../api/live.ts';
import { Failure } from '../../../parts/failure.tsx';
import { Loading } from '../../../parts/page.tsx';
import { PageLink } from '../../../parts/page-link.tsx';
import { DataTable } from '../../../parts/tables/data-table.tsx';
import { Pager } from '../../../parts/tables/pager.tsx';
import { TextFilter } from '../../../parts/tables/text-filter.tsx';
import { When } from '../../../parts/when.tsx';
import { DeliveryBadge, outcomeOf } from '../parts/health.tsx';
import { useWebhooksSearch } from '../parts/search-params.ts';
import { DELIVERY_STATES, type Delivery, type Endpoint, nameOf } from '../parts/webhook-api-types.ts';

/** Attempts have no event, so the newest page is requested again. */
const AGAIN_MS = 1_500;
const PAGE = 25;

export function Deliveries({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  const { search, go } = useWebhooksSearch();
  const { endpoint, state, type, cursor } = search;
  const path = withQuery('/webhooks/deliveries', { endpoint, state, eventType: type, cursor, limit: PAGE });
  const follows = ['system.delivery.failed', 'system.endpoint.disabled'];
  const everyMs = cursor === undefined ? AGAIN_MS : null;
  const { data, error, refetch } = useListPage<Delivery>(path, follows, everyMs);
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Deliveries
      </Title>
      <Group gap="sm" align="flex-end">
        <Select
          label="Endpoint"
          size="xs"
          placeholder="All"
          clearable
          clearButtonProps={{ 'aria-label': 'All endpoints' }}
          searchable
          data={endpoints.map((one) => ({ value: one.id, label: nameOf(one) }))}
          value={endpoint ?? null}
          onChange={(value) => go({ endpoint: value ?? undefined, cursor: undefined, dialog: undefined })}
        />
        <Select
          label="State"
          size="xs"
          placeholder="All"
          clearable
          clearButtonProps={{ 'aria-label': 'All states' }}
          data={[...DELIVERY_STATES]}
          value={state ?? null}
          onChange={(value) => go({ state: value ?? undefined, cursor: undefined })}
        />
        <TextFilter
          label="Event type"
          placeholder="todos.*"
          value={type}
          onValue={(value) => go({ type: value, cursor: undefined })}
        />
      </Group>
      {error === null ? null : <Failure error={error} again={() => void refetch()} />}
      {data === undefined && error === null ? <Loading /> : null}
      {data === undefined || error !== null ? null : <DeliveryTable items={data.items} endpoints={endpoints} />}
      <Pager cursor={cursor} next={data?.next ?? null} onCursor={(to) => go({ cursor: to })} />
    </Stack>
  );
}

interface DeliveryTableProps {
  readonly items: readonly Delivery[];
  readonly endpoints: readonly Endpoint[];
}

function DeliveryTable({ items, endpoints }: DeliveryTableProps) {
  const { search } = useWebhooksSearch();
  if (items.length === 0) {
    const isFiltered = search.state !== undefined || search.type !== undefined;
    return (
      <Text size="sm">
        {isFiltered
          ? 'No matching deliveries'
          : 'No deliveries yet. The next matching event creates one; “Send test event” creates one now.'}
      </Text>
    );
  }
  return (
    <DataTable
      label="Deliveries"
      columns={[
        'State',
        'Event',
        ...(search.endpoint === undefined ? ['Endpoint'] : []),
        'Last attempt',
        { right: 'Attempts' },
        'Next attempt',
        'Created',
      ]}
    >
      {items.map((delivery) => {
        const endpoint = endpoints.find(({ id }) => id === delivery.endpoint);
        return (
          <Table.Tr key={delivery.id}>
            <Table.Td>
              <DeliveryBadge state={delivery.state} />
            </Table.Td>
            <Table.Td>
              <PageLink
                size="sm"
                to="/webhooks"
                search={{ ...search, delivery: delivery.id }}
                aria-label={`${delivery.type} ${delivery.event}`}
              >
                {delivery.type}
              </PageLink>
              <Text size="xs" c="dimmed" truncate maw={180}>
                {delivery.event}
              </Text>
            </Table.Td>
            {search.endpoint === undefined ? (
              <Table.Td maw={220}>
                <Text size="sm" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
                  {endpoint === undefined ? 'a deleted endpoint' : nameOf(endpoint)}
                </Text>
              </Table.Td>
            ) : null}
            <Table.Td>{delivery.last === null ? 'none yet' : outcomeOf(delivery.last)}</Table.Td>
            <Table.Td ta="right">{delivery.attempts}</Table.Td>
            <Table.Td>
              <NextTry delivery={delivery} />
            </Table.Td>
            <Table.Td>
              <When at={delivery.createdAt} />
            </Table.Td>
          </Table.Tr>
        );
      })}
    </DataTable>
  );
}

/** An attempt that is due waits for its turn, or for the pause of its endpoint to end. */
function NextTry({ delivery: { nextAttemptAt } }: { readonly delivery: Delivery }) {
  if (nextAttemptAt !== null && Date.parse(nextAttemptAt) <= Date.now()) {
    return <span title="Waits for its turn, or for the pause of the endpoint to end">due</span>;
  }
  return <When at={nextAttemptAt} never="–" />;
}
