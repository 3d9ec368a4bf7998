/** One file: its metadata, a signed URL to share, and its deletion. */
import { Anchor, Button, Code, Drawer, Group, Select, Stack, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { numberText } from '../../parts/numbers.ts';
import { Loading } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { useAction } from '../../parts/use-action.ts';
import { Actor } from '../../parts/users/actor.tsx';
import { When } from '../../parts/when.tsx';
import { WhereNamed } from '../data/document/where-named.tsx';
import { type FileView, sizeText } from './file-list.ts';
import { Preview, useAddress } from './preview.tsx';

/** How a document contains the id of a file, or its URL. */
const LIKE_A_FILE = /^[0-9a-f]{24}$|\/files\//;

interface FileDetailProps {
  readonly id: string;
  readonly onClose: () => void;
}

export function FileDetail({ id, onClose }: FileDetailProps) {
  const { data: file, error } = useResource<FileView>(`/files/${encodeURIComponent(id)}`, ['system.file.*']);
  return (
    <Drawer opened onClose={onClose} position="right" size="lg" title={file?.name ?? 'File'}>
      {error !== null ? (
        <Failure error={error} />
      ) : file === undefined ? (
        <Loading />
      ) : (
        <Whole key={file.id} file={file} onClose={onClose} />
      )}
    </Drawer>
  );
}

function Whole({ file, onClose }: { readonly file: FileView; readonly onClose: () => void }) {
  const { build, why } = useRights();
  const [isRequested, setRequested] = useState(false);
  const address = useAddress(file.id);
  const { id, name, type, size, sha256, createdAt, createdBy, metadata } = file;
  return (
    <Stack>
      <Preview file={file} large />
      <Table variant="vertical" layout="fixed">
        <Table.Tbody>
          <Row name="Id">
            <Code>{id}</Code>
          </Row>
          <Row name="Type">{type}</Row>
          <Row name="Size">
            {sizeText(size)}
            {size < 1_000 ? '' : ` (${numberText(size)} bytes)`}
          </Row>
          <Row name="SHA-256">
            <Code>{sha256}</Code>
          </Row>
          <Row name="Uploaded">
            <When at={createdAt} />
            {createdBy === null ? null : (
              <>
                {' '}
                by <Actor kind={null} id={createdBy} />
              </>
            )}
          </Row>
          <Row name="Metadata">
            {metadata === null || metadata === undefined ? 'nothing' : <Code>{JSON.stringify(metadata)}</Code>}
          </Row>
        </Table.Tbody>
      </Table>
      <SignedUrl id={id} />
      <WhereNamed
        id={id}
        query="Where is it used?"
        where="fields with ids or URLs of files"
        mayName={({ example }) => typeof example === 'string' && LIKE_A_FILE.test(example)}
      />
      <Group justify="space-between">
        <Group gap="md">
          {address === null ? null : (
            <Anchor href={address} target="_blank" rel="noreferrer" size="sm">
              Open file
            </Anchor>
          )}
          <PageLink to="/events" search={{ types: 'system.file.*', filter: { documentId: id } }} size="sm">
            Events of this file
          </PageLink>
        </Group>
        <Button
          color="red"
          variant="outline"
          disabled={!build}
          title={build ? undefined : why}
          onClick={() => setRequested(true)}
        >
          Delete
        </Button>
      </Group>
      {isRequested ? (
        <Confirm
          title={`Delete ${name}?`}
          verb="Delete"
          onClose={() => setRequested(false)}
          onConfirm={async () => {
            await request('DELETE', `/files/${encodeURIComponent(id)}`);
            onClose();
          }}
        >
          This cannot be undone. Documents that reference it keep a broken link.
        </Confirm>
      ) : null}
    </Stack>
  );
}

/** Possible lifetimes of a URL, in seconds. */
const SPANS = [
  { value: '300', label: '5 minutes' },
  { value: '3600', label: '1 hour' },
];

interface Signed {
  readonly url: string;
  readonly expiresAt: string;
}

function SignedUrl({ id }: { readonly id: string }) {
  const [span, setSpan] = useState<string | null>('300');
  const [signed, setSigned] = useState<Signed | null>(null);
  const { busy, error, run } = useAction();
  const sign = async () => {
    const body = { expiresIn: Number(span) };
    setSigned((await request<Signed>('POST', `/files/${encodeURIComponent(id)}/sign`, { body })).body);
  };
  return (
    <Stack gap="xs">
      <Group align="flex-end" gap="xs">
        <Select
          label="Signed URL, valid for"
          data={SPANS}
          value={span}
          onChange={setSpan}
          allowDeselect={false}
          w={230}
        />
        <Button variant="default" onClick={() => void run(sign)} loading={busy}>
          Create signed URL
        </Button>
      </Group>
      {error === null ? null : <Failure error={error} />}
      {signed === null ? null : (
        <>
          <Copyable text={signed.url} what="the URL" />
          <Text size="sm" c="dimmed">
            Anyone with this URL can read the file until {new Date(signed.expiresAt).toLocaleTimeString()}.
          </Text>
        </>
      )}
    </Stack>
  );
}

function Row({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th w={100}>{name}</Table.Th>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{children}</Table.Td>
    </Table.Tr>
  );
}
