/** Roles of a user: free names for users, the four known ones for administrators. */
import { Checkbox, Stack } from '@mantine/core';
import { useKnownRoles } from '../../api/known-names.ts';
import { NamesInput } from '../../parts/names-input.tsx';
import { ADMIN_ROLES } from './users.ts';

interface RolesInputProps {
  readonly kind: 'user' | 'admin';
  readonly value: readonly string[];
  readonly onChange: (roles: readonly string[]) => void;
  readonly disabled?: boolean;
}

export function RolesInput({ kind, value, onChange, disabled = false }: RolesInputProps) {
  const known = useKnownRoles();
  if (kind === 'admin') {
    return (
      <Checkbox.Group label="Roles" value={[...value]} onChange={onChange}>
        <Stack gap="xs" mt={4}>
          {ADMIN_ROLES.map(({ role, may }) => (
            <Checkbox key={role} value={role} label={role} description={may} disabled={disabled} />
          ))}
        </Stack>
      </Checkbox.Group>
    );
  }
  return (
    <NamesInput
      label="Roles"
      description="Any names; policies define what each role can do. Press Enter to add one."
      data={[...known]}
      value={[...value]}
      onChange={onChange}
      disabled={disabled}
    />
  );
}
