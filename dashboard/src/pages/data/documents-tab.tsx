/** The documents of a collection: filter, grid, and the drawer of the open one. */
import { Button, Group, Indicator, Stack, Text } from '@mantine/core';
import { useThrottledCallback } from '@mantine/hooks';
import { IconFilter } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { MillraceError } from '../../../../client/client.ts';
import { request } from '../../api/client.ts';
import { useRights } from '../../api/rights.ts';
import { curl } from '../../parts/curl-command.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure, reportFailure } from '../../parts/failure.tsx';
import { pathOfName } from '../../parts/field-path.ts';
import { numberText } from '../../parts/numbers.ts';
import { Loading } from '../../parts/page.tsx';
import { ColumnMenu } from './column-picker.tsx';
import { DocumentDrawer } from './document/document-drawer.tsx';
import { FilterBar } from './filter-bar.tsx';
import { type CellTarget, patchOf } from './grid/cell-editor.tsx';
import { DocumentGrid } from './grid/document-grid.tsx';
import { useDocuments } from './grid/use-documents.ts';
import { ListHint } from './list-hint.tsx';
import { useShape } from './parts/collection-schema.ts';
import { choices, columnsOf, type Shape } from './parts/columns.ts';
import { curlOf, type DataSearch, NEWEST_FIRST, pathOf } from './parts/search.ts';
import { useHidden } from './use-policy-hidden-columns.ts';
import { ViewAs, ViewedAs } from './view-as.tsx';

interface DocumentsTabProps {
  readonly collection: string;
  readonly search: DataSearch;
  readonly mayWrite: boolean;
  /** The reason, when the documents cannot be changed. */
  readonly reason: string;
  readonly onChange: (part: DataSearch, replace?: boolean) => void;
}

/** New fields become columns. Minimum interval of requests for them, in milliseconds. */
const LOOK_MS = 3_000;

export function DocumentsTab(props: DocumentsTabProps) {
  const { collection, search, mayWrite, onChange } = props;
  const { q = '', sort, columns: named, doc } = search;
  const [isFiltering, setFiltering] = useState(q !== '');
  const { data: shape, refetch } = useShape(collection);
  const look = useThrottledCallback(() => void refetch(), LOOK_MS);
  const { pages, total, isOffline } = useDocuments(collection, search, (events) => {
    if (shape === undefined || events.some(({ data }) => hasUnknown(data, shape))) look();
  });
  // The same list while nothing changes, so that rows are not drawn again.
  const columns = useMemo(() => columnsOf(shape, named), [shape, named]);
  const hidden = useHidden(collection, search.as, pages, columns);
  const { accounts, why, known } = useRights();
  const isMissing = pages.error instanceof MillraceError && pages.error.code === 'resource-not-available';
  const isEmpty = pages.isComplete && pages.rows.length === 0;
  const drawer = <DocumentDrawer {...props} fields={choices(shape)} />;
  if (isMissing || (isEmpty && q === '' && search.as === undefined)) {
    return (
      <>
        <Empty
          title={isMissing ? `The collection ${collection} does not exist` : `${collection} has no documents`}
          command={curl(pathOf(collection), { title: 'First' })}
        >
          The first document creates the collection. It appears here at once.
        </Empty>
        {drawer}
      </>
    );
  }
  const save = (target: CellTarget, value: unknown) => {
    request('PATCH', pathOf(collection, target.document.id), { body: patchOf(target, value) }).catch(reportFailure);
  };
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Indicator disabled={q === ''} size={8}>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconFilter size={16} />}
            aria-expanded={isFiltering}
            onClick={() => setFiltering(!isFiltering)}
          >
            Filter
          </Button>
        </Indicator>
        <ColumnMenu
          fields={choices(shape)}
          shown={columns}
          onChange={(chosen) => onChange({ columns: chosen }, true)}
        />
        <ViewAs may={accounts} why={why} as={search.as} onChange={(as) => onChange({ as, doc: undefined })} />
        <Text size="sm" c="dimmed" role="status">
          {total === null ? '' : `${numberText(total)} ${total === 1 ? 'document' : 'documents'}`}
          {isOffline ? ' · disconnected, reconnecting automatically' : ''}
        </Text>
      </Group>
      {isFiltering ? (
        <FilterBar
          q={q}
          fields={shape?.fields ?? []}
          command={curlOf(collection, search)}
          onChange={(next) => onChange({ q: next }, true)}
        />
      ) : null}
      {search.as === undefined ? null : <ViewedAs as={search.as} onEnd={() => onChange({ as: undefined })} />}
      {pages.error === null ? null : <Failure error={pages.error} again={() => pages.again()} />}
      {pages.rows.length === 0 && !pages.isComplete && pages.error === null ? <Loading rows={10} /> : null}
      {isEmpty ? <Text size="sm">No documents match the filter.</Text> : null}
      {pages.hint === null || pages.error !== null ? null : (
        <ListHint collection={collection} hint={pages.hint} mayBuild={mayWrite} />
      )}
      <DocumentGrid
        label={`Documents of ${collection}`}
        pages={pages}
        total={total}
        columns={columns}
        hidden={hidden}
        sort={sort ?? NEWEST_FIRST}
        opened={doc}
        mayEdit={known ? mayWrite : null}
        onSort={(next) => onChange({ sort: next }, true)}
        onOpen={(id) => onChange({ doc: id })}
        onSave={save}
      />
      {drawer}
    </Stack>
  );
}

function hasUnknown(document: Readonly<Record<string, unknown>> | null, { fields }: Shape): boolean {
  return Object.keys(document ?? {}).some(
    (name) => name !== '_meta' && !fields.some(({ path }) => path === pathOfName(name)),
  );
}
