/** What takes letters, and a letter to the person's own address that shows that it works. */
import { Button, Code, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { MailVerdict } from '../../../../src/admin/installation/installation-shapes.ts';
import { request } from '../../api/client.ts';
import { Copyable } from '../copy.tsx';
import { Failure } from '../failure.tsx';
import { useAction } from '../use-action.ts';
import type { EffectiveSettings } from './effective-settings.ts';
import { Verdict } from './verdict.tsx';

const SETTING = 'MILLRACE_SMTP_URL=smtps://user:password@mail.example.org';

/** @param why why the person may not; empty when it may */
export function MailCheck({ settings, why = '' }: { readonly settings: EffectiveSettings; readonly why?: string }) {
  const { way, server, from } = settings.mail;
  const { busy, error, run } = useAction();
  const [found, setFound] = useState<MailVerdict | null>(null);
  const send = async () => {
    setFound(null);
    setFound((await request<MailVerdict>('POST', '/admin/mail/test')).body);
  };
  return (
    <Stack gap="sm" align="stretch">
      {way === 'smtp' ? (
        <Text size="sm">
          Letters go by <Code>{server}</Code>, from <Code>{from}</Code>
        </Text>
      ) : way === 'terminal' ? (
        <Text size="sm">Development mode prints letters at the terminal of the server instead of sending them.</Text>
      ) : (
        <>
          <Verdict good={false}>
            No mail server is set, so no letter is sent: nobody can confirm an address or replace a forgotten password.
          </Verdict>
          <Copyable text={SETTING} what="the setting, for the next start" />
        </>
      )}
      <Group>
        <Button
          variant="default"
          onClick={() => void run(send)}
          loading={busy}
          disabled={why !== '' || way === 'none'}
          title={why}
        >
          Send a test letter
        </Button>
        <Text size="sm" c="dimmed">
          It goes to your own address
        </Text>
      </Group>
      {found === null ? null : (
        <Verdict good={found.sent}>
          {found.to === null ? null : (
            <>
              To <Code>{found.to}</Code>:{' '}
            </>
          )}
          {found.verdict}
        </Verdict>
      )}
      {error === null ? null : <Failure error={error} />}
    </Stack>
  );
}
