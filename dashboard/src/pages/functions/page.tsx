/** Plugins, runs of all of them, and waiting jobs. */
import { Button, Tabs } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Failure } from '../../parts/failure.tsx';
import { Loading, Page } from '../../parts/page.tsx';
import { Jobs } from './jobs.tsx';
import { NewPlugin } from './new-plugin.tsx';
import type { Plugin } from './parts/responses.ts';
import { OF_PLUGINS, useFunctionsSearch } from './parts/search-params.ts';
import { PluginList } from './plugin-list.tsx';
import { Runs } from './runs/runs.tsx';

/** Counts of runs change without an event, in milliseconds. */
const COUNTS_MS = 10_000;

export function FunctionsPage() {
  const { search, go } = useFunctionsSearch();
  const { build, why } = useRights();
  const { data, error, refetch } = useResource<readonly Plugin[]>('/admin/plugins', OF_PLUGINS, COUNTS_MS);
  const tab = search.tab ?? 'plugins';
  return (
    <Page
      title="Functions"
      about="Your own code: HTTP functions, triggers, cron jobs, scheduled jobs and write hooks."
      actions={
        <Button
          leftSection={<IconPlus size={16} />}
          disabled={!build}
          title={build ? undefined : why}
          onClick={() => go({ dialog: 'new' })}
        >
          New plugin
        </Button>
      }
    >
      <Tabs
        value={tab}
        onChange={(value) => go({ tab: value === 'runs' || value === 'jobs' ? value : undefined, cursor: undefined })}
        keepMounted={false}
      >
        <Tabs.List>
          <Tabs.Tab value="plugins">Plugins</Tabs.Tab>
          <Tabs.Tab value="runs">Runs</Tabs.Tab>
          <Tabs.Tab value="jobs">Jobs</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="plugins" pt="md">
          {data === undefined && error === null ? <Loading /> : null}
          {error === null ? null : <Failure error={error} again={() => void refetch()} />}
          {data === undefined ? null : <PluginList plugins={data} />}
        </Tabs.Panel>
        <Tabs.Panel value="runs" pt="md">
          <Runs search={search} go={go} />
        </Tabs.Panel>
        <Tabs.Panel value="jobs" pt="md">
          <Jobs />
        </Tabs.Panel>
      </Tabs>
      {search.dialog === 'new' && build ? <NewPlugin onClose={() => go({ dialog: undefined })} /> : null}
    </Page>
  );
}
