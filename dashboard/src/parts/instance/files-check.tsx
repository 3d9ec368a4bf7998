/** Where files are stored, and a small test upload, which is deleted again. */
import { Button, Code, Group, List, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { Failure } from '../failure.tsx';
import { useAction } from '../use-action.ts';
import { Verdict } from './check-result.tsx';
import type { EffectiveSettings } from './effective-settings.ts';

const KINDS = { gridfs: 'In MongoDB, database', s3: 'In the bucket' } as const;

/** @param why why the user has no permission; empty with permission */
export function FilesCheck({ settings, why = '' }: { readonly settings: EffectiveSettings; readonly why?: string }) {
  const { busy, error, run } = useAction();
  const [took, setTook] = useState<number | null>(null);
  const tryUpload = async () => {
    setTook(null);
    setTook(await uploadAndDelete());
  };
  return (
    <Stack gap="sm" align="flex-start">
      {settings.files.length === 1 ? (
        settings.files.map((one) => <Place key={one.location} {...one} />)
      ) : (
        <List size="sm" type="ordered">
          {settings.files.map((one) => (
            <List.Item key={one.location}>
              <Place {...one} />
            </List.Item>
          ))}
        </List>
      )}
      <Text size="sm" c="dimmed">
        MongoDB suits thousands of files; for more, set <Code>MILLRACE_FILE_STORAGE</Code> to a bucket of an S3 server.
      </Text>
      <Group>
        <Button variant="default" onClick={() => void run(tryUpload)} loading={busy} disabled={why !== ''} title={why}>
          Upload test file
        </Button>
      </Group>
      {took === null ? null : (
        <Verdict good>A file was uploaded, read and deleted in {Math.max(1, Math.round(took))} ms</Verdict>
      )}
      {error === null ? null : <Failure error={error} />}
    </Stack>
  );
}

function Place({ kind, location }: EffectiveSettings['files'][number]) {
  return (
    <Text size="sm" span>
      {KINDS[kind]} <Code>{location}</Code>
    </Text>
  );
}

/** @returns the duration, in milliseconds */
async function uploadAndDelete(): Promise<number> {
  const begun = performance.now();
  const form = new FormData();
  form.append('file', new Blob(['A test of the setup']), 'set-up-test.txt');
  const { id } = (await request<{ readonly id: string }>('POST', '/files', { body: form })).body;
  try {
    await request('GET', `/files/${id}`);
  } finally {
    await request('DELETE', `/files/${id}`);
  }
  return performance.now() - begun;
}
