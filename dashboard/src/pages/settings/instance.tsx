/** URL, files, e-mail and backups of the instance: the current configuration, and whether it works. */
import { Card, Code, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { useSession } from '../../api/live.ts';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Verdict } from '../../parts/instance/check-result.tsx';
import { type EffectiveSettings, useEffectiveSettings } from '../../parts/instance/effective-settings.ts';
import { MailCheck } from '../../parts/instance/email-check.tsx';
import { FilesCheck } from '../../parts/instance/files-check.tsx';
import { AddressCheck } from '../../parts/instance/url-check.tsx';
import { Loading } from '../../parts/page.tsx';
import { quoted } from '../../parts/shell-word.ts';

const DUMP = 'mongodump --uri "$BACKUP_URL" --oplog --gzip --archive=millrace-$(date +%F).gz';

export function Installation() {
  const { state } = useSession();
  const { data: settings, error, refetch } = useEffectiveSettings();
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (settings === undefined) return <Loading />;
  const withoutUser = state === 'open' ? 'You are not signed in, so there is no e-mail address to send to' : '';
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Part title="URL">
        <AddressCheck settings={settings} />
      </Part>
      <Part title="E-mail">
        <MailCheck settings={settings} why={withoutUser} />
      </Part>
      <Part title="Files">
        <FilesCheck settings={settings} />
      </Part>
      <Part title="Database">
        <Text size="sm">
          MongoDB {settings.database.version}, database <Code>{settings.database.name}</Code>
          {settings.database.embedded ? ', run by Millrace itself' : ''}
        </Text>
        <Verdict good={settings.masterKey}>
          {settings.masterKey ? (
            'Secrets in the database are encrypted with the master key'
          ) : (
            <>
              Secrets in the database are not encrypted: <Code>MILLRACE_MASTER_KEY</Code> is not set. Anyone with a copy
              of the database could sign in.
            </>
          )}
        </Verdict>
      </Part>
      <Part title="Backup">
        <Backup database={settings.database} files={settings.files} />
      </Part>
      <Part title="Functions and CORS">
        <Text size="sm">
          Functions of plugins: <Code>MILLRACE_FUNCTIONS={settings.functions}</Code>
        </Text>
        <Text size="sm">
          {settings.corsOrigins.length === 0
            ? 'Pages of other origins cannot call this server (CORS).'
            : `Pages of these origins may call this server: ${settings.corsOrigins.join(', ')}`}
        </Text>
      </Part>
    </SimpleGrid>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Card withBorder padding="md" component="section">
      <Stack gap="sm">
        <Title order={2} size="h4">
          {title}
        </Title>
        {children}
      </Stack>
    </Card>
  );
}

function Backup({ database: { embedded, dataDir }, files }: Pick<EffectiveSettings, 'database' | 'files'>) {
  return (
    <>
      <Text size="sm">
        {embedded
          ? 'The embedded MongoDB stores everything in the data folder: stop the program and copy the folder.'
          : 'Back up documents and the event log together, with the oplog, so that both are from the same point in time:'}
      </Text>
      <Copyable
        text={dataDir === null ? DUMP : `cp -a ${quoted(dataDir)} /backups/millrace-$(date +%F)`}
        what="the command"
      />
      {files.some(({ kind }) => kind === 's3') ? (
        <Text size="sm">Back up the bucket after the database: then no document references a missing file.</Text>
      ) : null}
      <Text size="sm">Store the master key elsewhere, and test a restore before you need one.</Text>
    </>
  );
}
