/** Confirms what cannot be undone, or collects what an action needs. The most dangerous actions require typing a name. */
import { Modal, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Failure } from './failure.tsx';
import { FormEnd } from './forms/form-end.tsx';
import { useAction } from './use-action.ts';

interface ConfirmProps {
  readonly title: string;
  /** What happens. */
  readonly children: ReactNode;
  /** The label of the button: `Delete`. */
  readonly verb: string;
  /** The label of the other one: `Cancel`. */
  readonly no?: string;
  /** A text that must be typed first. */
  readonly name?: string;
  /** It can be undone, or changes nothing: the button is not red. */
  readonly harmless?: boolean;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Render it while the dialog is open. */
export function Confirm({ title, children, verb, no, name, harmless = false, onConfirm, onClose }: ConfirmProps) {
  const [typed, setTyped] = useState('');
  const { busy, error, run } = useAction();
  const confirm = async () => {
    await onConfirm();
    onClose();
  };
  return (
    <Modal opened onClose={onClose} title={title} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(confirm);
        }}
      >
        <Stack>
          <Text size="sm" component="div">
            {children}
          </Text>
          {name === undefined ? null : (
            <TextInput
              label={`Type ${name} to confirm`}
              value={typed}
              onChange={({ currentTarget }) => setTyped(currentTarget.value)}
              autoComplete="off"
              data-autofocus
            />
          )}
          {error === null ? null : <Failure error={error} />}
          <FormEnd
            verb={verb}
            {...(no === undefined ? {} : { no })}
            busy={busy}
            disabled={name !== undefined && typed !== name}
            harmful={!harmless}
            onCancel={onClose}
          />
        </Stack>
      </form>
    </Modal>
  );
}
