/** All plugins: source, active version, and runs of their functions. */
import { Badge, Group, Stack, Table, Text } from '@mantine/core';
import { Empty } from '../../parts/empty.tsx';
import { numberText } from '../../parts/numbers.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { When } from '../../parts/when.tsx';
import type { Plugin } from './parts/responses.ts';
import { occasionOf } from './parts/responses.ts';
import { FunctionBadge } from './parts/state-badge.tsx';

export function PluginList({ plugins }: { readonly plugins: readonly Plugin[] }) {
  if (plugins.length === 0) {
    return (
      <Empty title="No plugins yet" command="npm run functions -- new hello">
        A plugin is a folder with scripts and a manifest that says when each function runs. “New plugin” creates one
        here, in the database; this command creates one in the plugins folder of the server, for your own editor.
      </Empty>
    );
  }
  return (
    <DataTable label="Plugins" columns={['Plugin', 'Functions', { right: 'Runs, 7 days' }, 'Last run']}>
      {plugins.map((plugin) => (
        <PluginRow key={plugin.name} plugin={plugin} />
      ))}
    </DataTable>
  );
}

function PluginRow({ plugin }: { readonly plugin: Plugin }) {
  const { name, functions, enabled, diagnostics } = plugin;
  const [ok, failed] = [
    functions.reduce((sum, { runs }) => sum + runs.succeeded, 0),
    functions.reduce((sum, { runs }) => sum + runs.failed, 0),
  ];
  const last = functions
    .flatMap(({ lastRunAt }) => (lastRunAt === null ? [] : [lastRunAt]))
    .sort()
    .at(-1);
  return (
    <Table.Tr>
      <Table.Td style={{ verticalAlign: 'top' }}>
        <PageLink size="sm" to="/functions/$plugin" params={{ plugin: name }}>
          {name}
        </PageLink>
        <Text size="xs" c="dimmed">
          {plugin.source === 'folder' ? 'in a folder' : 'in the database'}, version {plugin.version.slice(0, 8)}
        </Text>
        {enabled && diagnostics.length === 0 ? null : (
          <Group gap={4} mt={4}>
            {enabled ? null : (
              <Badge variant="dot" color="gray" miw="max-content">
                disabled
              </Badge>
            )}
            {diagnostics.length === 0 ? null : (
              <Badge variant="dot" color="red" miw="max-content" title={diagnostics.join('\n')}>
                {diagnostics.length === 1 ? '1 error' : `${diagnostics.length} faults`}
              </Badge>
            )}
          </Group>
        )}
      </Table.Td>
      <Table.Td>
        <Stack gap={4}>
          {functions.map((fn) => (
            <Group key={fn.name} gap="xs" wrap="nowrap">
              <FunctionBadge state={fn.state} />
              <Text size="sm">
                {fn.name}{' '}
                <Text span size="sm" c="dimmed">
                  {occasionOf(fn)}
                </Text>
              </Text>
            </Group>
          ))}
        </Stack>
      </Table.Td>
      <Table.Td ta="right" style={{ verticalAlign: 'top' }}>
        {numberText(ok)}
        {failed === 0 ? null : (
          <>
            {', '}
            <PageLink
              to="/functions/$plugin"
              params={{ plugin: name }}
              search={{ tab: 'runs', state: 'failed' }}
              size="sm"
            >
              {numberText(failed)} failed
            </PageLink>
          </>
        )}
      </Table.Td>
      <Table.Td style={{ verticalAlign: 'top' }}>
        <When at={last} />
      </Table.Td>
    </Table.Tr>
  );
}
