/** Recovery codes, shown only once, to copy and to save as a file. */
import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { Copyable } from '../../parts/copy.tsx';

interface RecoveryCodesProps {
  readonly codes: readonly string[];
  readonly onClose: () => void;
}

export function RecoveryCodes({ codes, onClose }: RecoveryCodesProps) {
  const text = codes.join('\n');
  // No request returns them again, and this URL has no other reader.
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`${text}\n`)}`;
  return (
    // A click beside the dialog must not lose what cannot be shown again.
    <Modal opened onClose={onClose} title="Your recovery codes" closeOnClickOutside={false} closeOnEscape={false}>
      <Stack>
        <Alert color="yellow" py="xs" title="They are not shown again">
          Each code signs you in once, without the app. Store them with your passwords, not on the device with the app.
        </Alert>
        <Copyable text={text} what="the recovery codes" />
        <Group justify="flex-end">
          <Button
            component="a"
            href={file}
            download="millrace-recovery-codes.txt"
            variant="default"
            leftSection={<IconDownload size={16} />}
          >
            Download
          </Button>
          <Button onClick={onClose}>I have saved them</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
