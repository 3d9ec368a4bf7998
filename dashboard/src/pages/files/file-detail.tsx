/** One file: what is known of it, an address to give away, and its deletion. */
import { Anchor, Button, Code, Drawer, Group, Select, Stack, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Actor } from '../../parts/accounts/actor.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { numberText } from '../../parts/numbers.ts';
import { Loading } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { useAction } from '../../parts/use-action.ts';
import { When } from '../../parts/when.tsx';
import { WhereNamed } from '../data/document/where-named.tsx';
import { type ShownFile, sizeText } from './file-list.ts';
import { Preview, useAddress } from './preview.tsx';

/** What an id of a file, or its address, looks like in a document. */
const LIKE_A_FILE = /^[0-9a-f]{24}$|\/files\//;

interface FileDetailProps {
  readonly id: string;
  readonly onClose: () => void;
}

export function FileDetail({ id, onClose }: FileDetailProps) {
  const { data: file, error } = useResource<ShownFile>(`/files/${encodeURIComponent(id)}`, ['system.file.*']);
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

function Whole({ file, onClose }: { readonly file: ShownFile; readonly onClose: () => void }) {
  const { build, why } = useRights();
  const [isAsked, setAsked] = useState(false);
  const address = useAddress(file.id);
  const { id, name, type, size, sha256, createdAt, createdBy, custom } = file;
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
          <Row name="Custom">
            {custom === null || custom === undefined ? 'nothing' : <Code>{JSON.stringify(custom)}</Code>}
          </Row>
        </Table.Tbody>
      </Table>
      <SignedAddress id={id} />
      <WhereNamed
        id={id}
        question="Where is it used?"
        where="members with ids or addresses of files"
        mayName={({ example }) => typeof example === 'string' && LIKE_A_FILE.test(example)}
      />
      <Group justify="space-between">
        <Group gap="md">
          {address === null ? null : (
            <Anchor href={address} target="_blank" rel="noreferrer" size="sm">
              Open the file
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
          onClick={() => setAsked(true)}
        >
          Delete
        </Button>
      </Group>
      {isAsked ? (
        <Confirm
          title={`Delete ${name}?`}
          verb="Delete"
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await request('DELETE', `/files/${encodeURIComponent(id)}`);
            onClose();
          }}
        >
          Its bytes are gone for good. Documents that name it keep an address that leads nowhere.
        </Confirm>
      ) : null}
    </Stack>
  );
}

/** For how long an address can be valid, in seconds. */
const SPANS = [
  { value: '300', label: '5 minutes' },
  { value: '3600', label: '1 hour' },
];

interface Signed {
  readonly url: string;
  readonly expiresAt: string;
}

function SignedAddress({ id }: { readonly id: string }) {
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
          label="Signed address, valid for"
          data={SPANS}
          value={span}
          onChange={setSpan}
          allowDeselect={false}
          w={230}
        />
        <Button variant="default" onClick={() => void run(sign)} loading={busy}>
          Make the address
        </Button>
      </Group>
      {error === null ? null : <Failure error={error} />}
      {signed === null ? null : (
        <>
          <Copyable text={signed.url} what="the address" />
          <Text size="sm" c="dimmed">
            Everybody who has it can read the file until {new Date(signed.expiresAt).toLocaleTimeString()}.
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
