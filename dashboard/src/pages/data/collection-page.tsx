/** One collection: its documents as a live grid, its indexes, and its actions. */
import { Anchor, Button, Tabs } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useRights } from '../../api/rights.ts';
import { Page } from '../../parts/page.tsx';
import { CollectionActions } from './bulk-actions.tsx';
import { DocumentsTab } from './documents-tab.tsx';
import { IndexesTab } from './indexes-tab.tsx';
import { type DataSearch, NEW, TABS } from './parts/search.ts';

const route = getRouteApi('/data/$collection');

export function CollectionPage() {
  const { collection } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { build, why } = useRights();
  const change = (part: DataSearch, replace = false) =>
    void navigate({ search: (now) => ({ ...now, ...part }), replace });
  const reason = search.as === undefined ? why : 'You are viewing as another principal: read only';
  const mayWrite = build && search.as === undefined;
  return (
    <Page
      title={collection}
      about={
        <Anchor component={Link} to="/data" size="sm">
          All collections
        </Anchor>
      }
      actions={
        <>
          <CollectionActions collection={collection} search={search} mayWrite={mayWrite} reason={reason} />
          <Button
            leftSection={<IconPlus size={16} />}
            disabled={!mayWrite}
            {...(mayWrite ? {} : { title: reason })}
            onClick={() => change({ doc: NEW, copy: undefined, side: undefined })}
          >
            New document
          </Button>
        </>
      }
    >
      <Tabs
        value={search.tab ?? 'documents'}
        onChange={(value) =>
          change({ tab: TABS.find((tab) => tab === value && tab !== 'documents'), index: undefined })
        }
        keepMounted={false}
      >
        <Tabs.List>
          <Tabs.Tab value="documents">Documents</Tabs.Tab>
          <Tabs.Tab value="indexes">Indexes</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="documents" pt="sm">
          <DocumentsTab
            key={collection}
            collection={collection}
            search={search}
            mayWrite={mayWrite}
            reason={reason}
            onChange={change}
          />
        </Tabs.Panel>
        <Tabs.Panel value="indexes" pt="sm">
          <IndexesTab key={collection} collection={collection} requested={search.index} mayWrite={build} reason={why} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
