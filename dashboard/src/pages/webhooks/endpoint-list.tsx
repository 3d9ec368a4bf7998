/** All endpoints with their health. */
import { Code, Group, Stack, Table, Text, Title } from '@mantine/core';
import { SERVER } from '../../api/server.ts';
import { Empty } from '../../parts/empty.tsx';
import { numberText } from '../../parts/numbers.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { When } from '../../parts/when.tsx';
import { HealthBadge } from './parts/health.tsx';
import { type Endpoint, nameOf } from './parts/webhook-api-types.ts';

/** More would make a row higher than a phone. */
const TYPES_SHOWN = 3;

export function EndpointList({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  if (endpoints.length === 0) {
    return (
      <Empty title="No endpoints yet" command={`npm run webhooks -- listen 8080 --types '*' --url ${SERVER}`}>
        An endpoint is a URL that receives events of the types and documents that you choose. This command creates one
        for your machine and shows every request that arrives, with its signature verified.
      </Empty>
    );
  }
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Endpoints
      </Title>
      <DataTable label="Endpoints" columns={['Endpoint', 'Types', 'Health', { right: 'Pending' }, 'Last success']}>
        {endpoints.map((endpoint) => (
          <Table.Tr key={endpoint.id}>
            <Table.Td maw={320}>
              <PageLink
                size="sm"
                style={{ overflowWrap: 'anywhere' }}
                to="/webhooks"
                search={{ endpoint: endpoint.id }}
              >
                {nameOf(endpoint)}
              </PageLink>
              {endpoint.name === null ? null : (
                <Text size="xs" c="dimmed" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
                  {endpoint.url}
                </Text>
              )}
            </Table.Td>
            <Table.Td>
              <Types types={endpoint.types} />
            </Table.Td>
            <Table.Td>
              <HealthBadge endpoint={endpoint} />
            </Table.Td>
            <Table.Td ta="right">{numberText(endpoint.health.pending)}</Table.Td>
            <Table.Td>
              <Text size="sm" component="span">
                <When at={endpoint.health.lastSuccessAt} />
              </Text>
            </Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
    </Stack>
  );
}

function Types({ types }: { readonly types: readonly string[] }) {
  const more = types.length - TYPES_SHOWN;
  return (
    <Group gap={4}>
      {types.slice(0, TYPES_SHOWN).map((type) => (
        <Code key={type}>{type}</Code>
      ))}
      {more > 0 ? (
        <Text size="xs" c="dimmed" title={types.join(', ')}>
          and {more} more
        </Text>
      ) : null}
    </Group>
  );
}
