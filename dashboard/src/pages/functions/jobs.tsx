/** Unfinished jobs, the next first. */
import { Button, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { request, withQuery } from '../../api/client.ts';
import { useListPage } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { Pager } from '../../parts/tables/pager.tsx';
import { When } from '../../parts/when.tsx';
import type { Job } from './parts/responses.ts';
import { useFunctionsAgain, useFunctionsSearch } from './parts/search-params.ts';

const PAGE = 50;
/** The start and end of a job have no event. */
const AGAIN_MS = 2_000;

export function Jobs() {
  const { search, go } = useFunctionsSearch();
  const { build, why } = useRights();
  const again = useFunctionsAgain();
  const [cancelled, setCancelled] = useState<Job | null>(null);
  const path = withQuery('/admin/jobs', { limit: PAGE, cursor: search.cursor });
  const { data, error } = useListPage<Job>(path, ['system.function.*', 'system.run.*'], AGAIN_MS);
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Loading />;
  if (data.items.length === 0 && search.cursor === undefined) {
    return (
      <Empty
        title="No scheduled jobs"
        command="await ctx.schedule('remind', { text: 'Tea is ready' }, { after: 600_000 });"
      >
        A function with “job” in its manifest runs when another function of its plugin schedules it.
      </Empty>
    );
  }
  return (
    <>
      <DataTable label="Jobs" columns={['Function', 'State', 'Due', { right: 'Attempts' }, { hidden: 'Cancel' }]}>
        {data.items.map((job) => (
          <Table.Tr key={job.id}>
            <Table.Td>
              <PageLink size="sm" to="/functions/$plugin" params={{ plugin: job.plugin }}>
                {job.plugin}/{job.function}
              </PageLink>
              <Text size="xs" c="dimmed">
                {job.id}
              </Text>
            </Table.Td>
            <Table.Td>{job.state}</Table.Td>
            <Table.Td>
              <When at={job.nextAttemptAt ?? job.scheduledAt} never="now" />
            </Table.Td>
            <Table.Td ta="right">{job.attempts}</Table.Td>
            <Table.Td>
              <Button
                size="xs"
                variant="default"
                disabled={!build || job.state !== 'pending'}
                title={build ? (job.state === 'pending' ? undefined : 'It is already running') : why}
                onClick={() => setCancelled(job)}
              >
                Cancel
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
      <Pager cursor={search.cursor} next={data.next} words={['First', 'Later']} onCursor={(cursor) => go({ cursor })} />
      {cancelled === null ? null : (
        <Confirm
          title="Cancel job"
          verb="Cancel job"
          no="Keep job"
          onConfirm={async () => {
            await request('DELETE', `/admin/jobs/${encodeURIComponent(cancelled.id)}`);
            await again();
          }}
          onClose={() => setCancelled(null)}
        >
          {cancelled.plugin}/{cancelled.function} will not run. It stays in the list of runs as canceled.
        </Confirm>
      )}
    </>
  );
}
