/** Compares the address in the browser with the one that the server knows, and says what to set. */
import { Code, Stack } from '@mantine/core';
import { SERVER } from '../../api/server.ts';
import { Copyable } from '../copy.tsx';
import type { EffectiveSettings } from './effective-settings.ts';
import { Verdict } from './verdict.tsx';

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export function AddressCheck({ settings }: { readonly settings: EffectiveSettings }) {
  const { publicUrl, request } = settings;
  const { protocol, hostname } = location;
  const isLocal = LOOPBACK.test(hostname);
  const isEncrypted = protocol === 'https:';
  return (
    <Stack gap="sm">
      <Verdict good>
        Your browser uses <Code>{SERVER}</Code>
      </Verdict>
      <Verdict good={publicUrl === SERVER}>
        {publicUrl === null ? (
          <>
            <Code>MILLRACE_PUBLIC_URL</Code> is not set. Links in letters and addresses of files need it, and with it
            the server refuses requests for any other host.
          </>
        ) : publicUrl === SERVER ? (
          <>
            <Code>MILLRACE_PUBLIC_URL</Code> says the same
          </>
        ) : (
          <>
            <Code>MILLRACE_PUBLIC_URL</Code> says <Code>{publicUrl}</Code>. Links in letters lead there.
          </>
        )}
      </Verdict>
      <Verdict good={isEncrypted}>
        {isEncrypted
          ? 'The connection is encrypted (https)'
          : isLocal
            ? 'The connection is not encrypted. On this machine that is fine; others need https, by a proxy in front of Millrace.'
            : 'The connection is not encrypted: everybody on the way can read your password. Put a proxy with https in front.'}
      </Verdict>
      {request.base === SERVER ? null : (
        <Verdict good={false}>
          The server thinks that it was asked at <Code>{request.base}</Code>: let the proxy pass on <Code>Host</Code>{' '}
          and <Code>X-Forwarded-Proto</Code>, and name it in <Code>MILLRACE_TRUST_PROXY</Code>.
        </Verdict>
      )}
      <Verdict good>
        For the server you come from <Code>{request.address}</Code>
        {isLocal ? '' : '. If that is the address of a proxy, name it in MILLRACE_TRUST_PROXY.'}
      </Verdict>
      {publicUrl === null ? (
        <Copyable
          text={`MILLRACE_PUBLIC_URL=${isLocal ? 'https://api.example.org' : SERVER}`}
          what="the setting, for the next start"
        />
      ) : null}
    </Stack>
  );
}
