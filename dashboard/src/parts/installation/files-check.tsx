/** Where files lie, and a small upload that shows that it works. What it uploads it deletes. */
import { Button, Code, Group, List, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { Failure } from '../failure.tsx';
import { useAction } from '../use-action.ts';
import type { EffectiveSettings } from './effective-settings.ts';
import { Verdict } from './verdict.tsx';

const KINDS = { gridfs: 'In MongoDB, database', s3: 'In the bucket' } as const;

/** @param why why the person may not; empty when it may */
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
        settings.files.map((one) => <Place key={one.place} {...one} />)
      ) : (
        <List size="sm" type="ordered">
          {settings.files.map((one) => (
            <List.Item key={one.place}>
              <Place {...one} />
            </List.Item>
          ))}
        </List>
      )}
      <Text size="sm" c="dimmed">
        MongoDB suits thousands of files; for more, <Code>MILLRACE_FILES</Code> names a bucket of an S3 server.
      </Text>
      <Group>
        <Button variant="default" onClick={() => void run(tryUpload)} loading={busy} disabled={why !== ''} title={why}>
          Upload a test file
        </Button>
      </Group>
      {took === null ? null : (
        <Verdict good>A file was uploaded, read and deleted in {Math.max(1, Math.round(took))} ms</Verdict>
      )}
      {error === null ? null : <Failure error={error} />}
    </Stack>
  );
}

function Place({ kind, place }: EffectiveSettings['files'][number]) {
  return (
    <Text size="sm" span>
      {KINDS[kind]} <Code>{place}</Code>
    </Text>
  );
}

/** @returns the time that it took, in milliseconds */
async function uploadAndDelete(): Promise<number> {
  const begun = performance.now();
  const form = new FormData();
  form.append('file', new Blob(['A test of the set-up']), 'set-up-test.txt');
  const { id } = (await request<{ readonly id: string }>('POST', '/files', { body: form })).body;
  try {
    await request('GET', `/files/${id}`);
  } finally {
    await request('DELETE', `/files/${id}`);
  }
  return performance.now() - begun;
}
