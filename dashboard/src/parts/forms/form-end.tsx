/** The end of a form in a dialog: cancel, or submit. */
import { Button, Group } from '@mantine/core';

interface FormEndProps {
  /** The word on the button that sends the form: `Create key`. */
  readonly verb: string;
  readonly busy: boolean;
  readonly disabled?: boolean;
  /** The action cannot be undone: the button is red. */
  readonly harmful?: boolean;
  /** The label of the button that closes it, where `Cancel` could mean the action of the form. */
  readonly no?: string;
  readonly onCancel: () => void;
}

export function FormEnd({ verb, busy, disabled = false, harmful = false, no = 'Cancel', onCancel }: FormEndProps) {
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onCancel}>
        {no}
      </Button>
      <Button type="submit" {...(harmful ? { color: 'red' } : {})} loading={busy} disabled={disabled}>
        {verb}
      </Button>
    </Group>
  );
}
