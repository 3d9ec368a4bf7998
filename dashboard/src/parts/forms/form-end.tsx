/** The end of a form in a dialog: away from it, or do it. */
import { Button, Group } from '@mantine/core';

interface FormEndProps {
  /** The word on the button that sends the form: `Make the key`. */
  readonly verb: string;
  readonly busy: boolean;
  readonly disabled?: boolean;
  /** What it does cannot be undone: the button is red. */
  readonly harmful?: boolean;
  /** The word on the button that leads away, where `Cancel` could be what the form does. */
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
