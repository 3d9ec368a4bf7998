/** Creates a plugin in the database from a working template. */
import { Modal, Radio, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
// The texts of the templates are pure, and shared with the command line.
import { createPluginTemplate } from '../../../../src/commands/functions/templates.ts';
import { request } from '../../api/client.ts';
import { Failure } from '../../parts/failure.tsx';
import { FormEnd } from '../../parts/forms/form-end.tsx';
import { useAction } from '../../parts/use-action.ts';
import type { FunctionKind } from './parts/responses.ts';
import { useFunctionsAgain } from './parts/search-params.ts';

const KINDS: readonly { readonly kind: FunctionKind; readonly about: string }[] = [
  { kind: 'http', about: 'serves HTTP requests below /fn' },
  { kind: 'trigger', about: 'runs after events' },
  { kind: 'cron', about: 'runs on a schedule' },
  { kind: 'beforeWrite', about: 'checks and changes writes before they are stored' },
  { kind: 'job', about: 'runs later, when other code schedules it' },
];

export function NewPlugin({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<FunctionKind>('http');
  const { busy, error, run } = useAction();
  const navigate = useNavigate();
  const again = useFunctionsAgain();
  const hasRole = createPluginTemplate(kind, 'name').functions.some((fn) => 'roles' in fn);
  const make = async () => {
    const { functions, scripts } = createPluginTemplate(kind, name);
    await request('PUT', `/admin/plugins/${encodeURIComponent(name)}`, {
      body: { manifest: { name, functions }, files: scripts, note: `Created from the template for ${kind}` },
      headers: { 'if-none-match': '*' },
    });
    await again();
    await navigate({ to: '/functions/$plugin', params: { plugin: name } });
  };
  return (
    <Modal opened onClose={onClose} title="New plugin">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(make);
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            description="Lowercase letters, digits and single hyphens"
            placeholder="hello"
            required
            data-autofocus
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          <Radio.Group
            label="First function"
            value={kind}
            onChange={(value) => setKind(KINDS.find((one) => one.kind === value)?.kind ?? 'http')}
          >
            <Stack gap={6} mt={4}>
              {KINDS.map((one) => (
                <Radio key={one.kind} value={one.kind} label={`${one.kind}: ${one.about}`} />
              ))}
            </Stack>
          </Radio.Group>
          <Text size="sm">
            It is active at once. {createPluginTemplate(kind, name || 'name').about.replaceAll('`', '')}
            {hasRole
              ? ` In production the role ${name || 'with its name'} needs a policy for what it reads and writes.`
              : ''}
          </Text>
          {error === null ? null : <Failure error={error} />}
          <FormEnd verb="Create plugin" busy={busy} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
