/** Actions on many documents of a collection: import, export, changing and deleting by the filter. */
import { Button, Menu } from '@mantine/core';
import { IconDownload, IconPencil, IconTrash, IconUpload } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { BulkDialog } from './bulk-dialog.tsx';
import type { DataSearch } from './parts/search.ts';
import { ExportDialog } from './transfer/export-dialog.tsx';

const ImportDialog = lazy(async () => ({ default: (await import('./transfer/import-dialog.tsx')).ImportDialog }));

interface CollectionActionsProps {
  readonly collection: string;
  readonly search: DataSearch;
  readonly mayWrite: boolean;
  readonly reason: string;
}

type Opened = 'import' | 'export' | 'change' | 'delete' | null;

export function CollectionActions({ collection, search, mayWrite, reason }: CollectionActionsProps) {
  const [opened, setOpened] = useState<Opened>(null);
  const close = () => setOpened(null);
  const { q = '' } = search;
  const which = q === '' ? 'all documents' : 'all matching documents';
  const writes = mayWrite ? {} : { disabled: true, title: reason };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default">More</Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconUpload size={14} />} onClick={() => setOpened('import')} {...writes}>
            Import file
          </Menu.Item>
          <Menu.Item leftSection={<IconDownload size={14} />} onClick={() => setOpened('export')}>
            Export {which}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item leftSection={<IconPencil size={14} />} onClick={() => setOpened('change')} {...writes}>
            Update {which}
          </Menu.Item>
          <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => setOpened('delete')} {...writes}>
            Delete {which}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Suspense>{opened === 'import' ? <ImportDialog collection={collection} onClose={close} /> : null}</Suspense>
      {opened === 'export' ? <ExportDialog collection={collection} search={search} onClose={close} /> : null}
      {opened === 'change' || opened === 'delete' ? (
        <BulkDialog collection={collection} q={q} what={opened} onClose={close} />
      ) : null}
    </>
  );
}
