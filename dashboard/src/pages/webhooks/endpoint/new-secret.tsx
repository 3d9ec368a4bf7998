/** A new secret, shown only once. */
import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { Copyable } from '../../../parts/copy.tsx';

export function SecretShown({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    // A click beside the dialog must not lose what cannot be shown again.
    <Modal opened onClose={onClose} title="Endpoint secret" centered closeOnClickOutside={false}>
      <Stack>
        <Text size="sm">
          Your receiver uses it to verify that a delivery is genuine. Store it where only the receiver can read it.
        </Text>
        <Copyable text={secret} what="the secret" />
        <Alert color="yellow" py="xs" title="It is not shown again">
          If it is lost, rotate the secret.
        </Alert>
        <Group justify="flex-end">
          <Button onClick={onClose}>I have saved it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
