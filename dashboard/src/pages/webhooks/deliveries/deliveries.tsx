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
import { DELIVERY_STATES, type Delivery, type Endpoint, nameOf } from '../parts/answers.ts';
import { DeliveryBadge, outcomeOf } from '../parts/health.tsx';
import { useWebhooksPlace } from '../parts/place.ts';

/** No event tells of a try, so the newest page is asked for again. */
const AGAIN_MS = 1_500;
const PAGE = 25;

export function Deliveries({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  const { search, go } = useWebhooksPlace();
  const { endpoint, state, type, cursor } = search;
  const path = withQuery('/webhooks/deliveries', { endpoint, state, type, cursor, limit: PAGE });
  const follows = ['system.delivery.dead', 'system.endpoint.disabled'];
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
          label="Type of event"
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
  const { search } = useWebhooksPlace();
  if (items.length === 0) {
    const isFiltered = search.state !== undefined || search.type !== undefined;
    return (
      <Text size="sm">
        {isFiltered
          ? 'No delivery is like this.'
          : 'Nothing was sent yet. The next event that fits makes a delivery; “Send a test” makes one now.'}
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
        'Last try',
        { right: 'Tries' },
        'Next try',
        'Made',
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

/** A try that is due waits for its turn, or for the end of a pause of its endpoint. */
function NextTry({ delivery: { nextAttemptAt } }: { readonly delivery: Delivery }) {
  if (nextAttemptAt !== null && Date.parse(nextAttemptAt) <= Date.now()) {
    return <span title="It waits for its turn, or for the end of a pause of its endpoint">due</span>;
  }
  return <When at={nextAttemptAt} never="–" />;
}
