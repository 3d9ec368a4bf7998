/** Address, files, mail and backups of the installation: what is in force, and whether it works. */
import { Card, Code, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { useSession } from '../../api/live.ts';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { AddressCheck } from '../../parts/installation/address-check.tsx';
import { type EffectiveSettings, useEffectiveSettings } from '../../parts/installation/effective-settings.ts';
import { FilesCheck } from '../../parts/installation/files-check.tsx';
import { MailCheck } from '../../parts/installation/mail-check.tsx';
import { Verdict } from '../../parts/installation/verdict.tsx';
import { Loading } from '../../parts/page.tsx';
import { quoted } from '../../parts/shell-word.ts';

const DUMP = 'mongodump --uri "$BACKUP_URL" --oplog --gzip --archive=millrace-$(date +%F).gz';

export function Installation() {
  const { state } = useSession();
  const { data: settings, error, refetch } = useEffectiveSettings();
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (settings === undefined) return <Loading />;
  const withoutAccount = state === 'open' ? 'Without an account there is no address to send to' : '';
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Part title="Address">
        <AddressCheck settings={settings} />
      </Part>
      <Part title="Mail">
        <MailCheck settings={settings} why={withoutAccount} />
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
            'Secrets in the database are encrypted by the master key'
          ) : (
            <>
              Secrets in the database are not encrypted: <Code>MILLRACE_MASTER_KEY</Code> is not set. Somebody with a
              copy of the database could sign in.
            </>
          )}
        </Verdict>
      </Part>
      <Part title="Backup">
        <Backup database={settings.database} files={settings.files} />
      </Part>
      <Part title="Functions and other pages">
        <Text size="sm">
          Functions of plugins: <Code>MILLRACE_FUNCTIONS={settings.functions}</Code>
        </Text>
        <Text size="sm">
          {settings.origins.length === 0
            ? 'No page of another origin may call this server.'
            : `Pages of these origins may call this server: ${settings.origins.join(', ')}`}
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

function Backup({ database: { embedded, folder }, files }: Pick<EffectiveSettings, 'database' | 'files'>) {
  return (
    <>
      <Text size="sm">
        {embedded
          ? 'The embedded MongoDB keeps everything in its folder: stop the program and copy the folder.'
          : 'Documents and event log must be of the same moment, so they are saved together, with the oplog:'}
      </Text>
      <Copyable
        text={folder === null ? DUMP : `cp -a ${quoted(folder)} /backups/millrace-$(date +%F)`}
        what="the command"
      />
      {files.some(({ kind }) => kind === 's3') ? (
        <Text size="sm">Save the bucket after the database: then no document lacks its bytes.</Text>
      ) : null}
      <Text size="sm">Keep the master key in another place, and try a restore before you need one.</Text>
    </>
  );
}
