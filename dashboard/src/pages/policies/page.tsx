/** Policies: the list, the matrix, the simulator, the versions, and the editor of one policy. */
import { Button, Tabs } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useRights } from '../../api/rights.ts';
import { Failure } from '../../parts/failure.tsx';
import { Loading, Page } from '../../parts/page.tsx';
import { OpenPolicy } from './development-mode-policy.tsx';
import { PolicyEditor } from './editor/policy-editor.tsx';
import { Matrix } from './matrix.tsx';
import { usePolicies } from './parts/policies.ts';
import { type ChangeSearch, type PoliciesView, policiesRoute } from './parts/route.ts';
import { PolicyList } from './policy-list.tsx';
import { Tester } from './tester.tsx';
import { Versions } from './versions.tsx';

export function PoliciesPage() {
  const search = policiesRoute.useSearch();
  const navigate = policiesRoute.useNavigate();
  const { build, why } = useRights();
  const { data, error, refetch } = usePolicies();
  const change: ChangeSearch = (next, replace = false) =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace });
  const view = search.view ?? 'list';
  return (
    <Page
      title="Policies"
      about="What each client can do, on which documents. A change takes effect in every process within a second."
      actions={
        search.policy === undefined ? (
          <Button
            leftSection={<IconPlus size={16} />}
            disabled={!build}
            {...(build ? {} : { title: why })}
            onClick={() => change({ policy: 'new' })}
          >
            New policy
          </Button>
        ) : null
      }
    >
      {error === null ? null : <Failure error={error} again={() => void refetch()} />}
      {data === undefined ? (
        error === null && <Loading />
      ) : search.policy !== undefined ? (
        <PolicyEditor key={search.policy} id={search.policy} policies={data.policies} change={change} />
      ) : (
        <>
          <OpenPolicy policies={data.policies} />
          <Tabs
            value={view}
            keepMounted={false}
            onChange={(next) => change({ view: next === 'list' ? undefined : (next as PoliciesView) })}
          >
            <Tabs.List mb="md" aria-label="Views">
              <Tabs.Tab value="list">List</Tabs.Tab>
              <Tabs.Tab value="matrix">Matrix</Tabs.Tab>
              <Tabs.Tab value="tester">Tester</Tabs.Tab>
              <Tabs.Tab value="versions">Versions</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="list">
              <PolicyList policies={data.policies} />
            </Tabs.Panel>
            <Tabs.Panel value="matrix">
              <Matrix set={data} search={search} change={change} />
            </Tabs.Panel>
            <Tabs.Panel value="tester">
              <Tester set={data} search={search} change={change} />
            </Tabs.Panel>
            <Tabs.Panel value="versions">
              <Versions open={search.version} change={change} />
            </Tabs.Panel>
          </Tabs>
        </>
      )}
    </Page>
  );
}
