/** The functions of a plugin: when each runs, its state, and the results of its runs. */
import { Button, Table, Text } from '@mantine/core';
import { request } from '../../api/client.ts';
import { useRights } from '../../api/rights.ts';
import { numberText } from '../../parts/numbers.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { useActionWithNotice } from '../../parts/use-action.ts';
import { When } from '../../parts/when.tsx';
import { occasionOf, type PluginFunction, type WholePlugin } from './parts/responses.ts';
import { useFunctionsAgain } from './parts/search-params.ts';
import { FunctionBadge } from './parts/state-badge.tsx';

export function FunctionTable({ plugin }: { readonly plugin: WholePlugin }) {
  return (
    <DataTable
      label="Functions"
      columns={['Function', 'Triggered by', 'State', { right: 'Runs, 7 days' }, { right: 'p95 duration' }, 'Last run']}
    >
      {plugin.functions.map((fn) => (
        <Table.Tr key={fn.name}>
          <Table.Td>{fn.name}</Table.Td>
          <Table.Td>
            <Text size="sm">{occasionOf(fn)}</Text>
            {fn.nextRunAt === null ? null : (
              <Text size="xs" c="dimmed" component="div">
                next <When at={fn.nextRunAt} />
              </Text>
            )}
          </Table.Td>
          <Table.Td>
            <FunctionBadge state={fn.state} />
            {fn.error === null ? null : (
              <Text size="xs" c="dimmed" maw={260}>
                {fn.error}
              </Text>
            )}
            {fn.state === 'quarantined' ? <Release plugin={plugin.name} fn={fn} /> : null}
          </Table.Td>
          <Table.Td ta="right">
            {numberText(fn.runs.succeeded)}
            {fn.runs.failed === 0 ? null : (
              <>
                {', '}
                <PageLink
                  to="/functions/$plugin"
                  params={{ plugin: plugin.name }}
                  search={{ tab: 'runs', function: fn.name, state: 'failed' }}
                  size="sm"
                >
                  {numberText(fn.runs.failed)} failed
                </PageLink>
              </>
            )}
          </Table.Td>
          <Table.Td ta="right">{fn.runs.p95Ms === null ? '–' : `${Math.round(fn.runs.p95Ms)} ms`}</Table.Td>
          <Table.Td>
            <When at={fn.lastRunAt} />
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

function Release({ plugin, fn }: { readonly plugin: string; readonly fn: PluginFunction }) {
  const { build, why } = useRights();
  const again = useFunctionsAgain();
  const { busy, run } = useActionWithNotice();
  const release = async () => {
    const path = `/admin/plugins/${encodeURIComponent(plugin)}/functions/${encodeURIComponent(fn.name)}/unquarantine`;
    await request('POST', path);
    await again();
  };
  return (
    <Button
      size="compact-xs"
      variant="default"
      mt={4}
      loading={busy}
      disabled={!build}
      title={build ? 'The function can run again' : why}
      onClick={() => void run(release)}
    >
      Unquarantine
    </Button>
  );
}
