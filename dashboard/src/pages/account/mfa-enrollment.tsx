/** The QR code and the secret for an authenticator app, and its first code, which confirms it. */
import { Button, Center, Group, Image, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';
import { confirmFactor, type FactorEnrollment } from './mfa.ts';

interface SetUpFactorProps {
  readonly begun: FactorEnrollment;
  readonly onCodes: (codes: readonly string[]) => Promise<void>;
  readonly onClose: () => void;
}

export function SetUpFactor({ begun, onCodes, onClose }: SetUpFactorProps) {
  const [code, setCode] = useState('');
  const { busy, error, run } = useAction();
  return (
    <Modal opened onClose={onClose} title="Set up authenticator app" closeOnClickOutside={false}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(async () => onCodes(await confirmFactor(code)));
        }}
      >
        <Stack>
          <Text size="sm">Scan this code with the app, or enter the secret below.</Text>
          <Center>
            <Image
              src={`data:image/svg+xml,${encodeURIComponent(begun.qr)}`}
              alt="QR code for an authenticator app"
              w={220}
              h={220}
            />
          </Center>
          <Copyable text={begun.secret} what="the secret" />
          <TextInput
            label="Code"
            description="The six digits that the app shows now"
            autoComplete="one-time-code"
            inputMode="numeric"
            required
            minLength={6}
            maxLength={8}
            value={code}
            onChange={({ currentTarget }) => setCode(currentTarget.value)}
            data-autofocus
          />
          <Text size="sm">This ends your other sessions. Each sign-in then requires a code.</Text>
          {error === null ? null : <Failure error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={busy}>
              Activate
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
