/** Jobs that have not ended, the next first. */
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
import type { Job } from './parts/answers.ts';
import { useFunctionsAgain, useFunctionsPlace } from './parts/place.ts';

const PAGE = 50;
/** No event tells that a job has begun or ended. */
const AGAIN_MS = 2_000;

export function Jobs() {
  const { search, go } = useFunctionsPlace();
  const { build, why } = useRights();
  const again = useFunctionsAgain();
  const [cancelled, setCancelled] = useState<Job | null>(null);
  const path = withQuery('/admin/jobs', { limit: PAGE, cursor: search.cursor });
  const { data, error } = useListPage<Job>(path, ['system.function.*'], AGAIN_MS);
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Loading />;
  if (data.items.length === 0 && search.cursor === undefined) {
    return (
      <Empty title="No job waits" command="await ctx.schedule('remind', { text: 'Tea is ready' }, { after: 600_000 });">
        A function with “job” in its manifest runs when another function of its plugin asks for it.
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
            <Table.Td ta="right">{job.attempt}</Table.Td>
            <Table.Td>
              <Button
                size="xs"
                variant="default"
                disabled={!build || job.state !== 'waiting'}
                title={build ? (job.state === 'waiting' ? undefined : 'It runs already') : why}
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
          title="Cancel the job"
          verb="Cancel the job"
          no="Keep it"
          onConfirm={async () => {
            await request('DELETE', `/admin/jobs/${encodeURIComponent(cancelled.id)}`);
            await again();
          }}
          onClose={() => setCancelled(null)}
        >
          {cancelled.plugin}/{cancelled.function} does not run. It is kept among the runs as refused.
        </Confirm>
      )}
    </>
  );
}
