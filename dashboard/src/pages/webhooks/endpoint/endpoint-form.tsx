/** Creates or edits an endpoint: only changed values are sent. */
import {
  Box,
  Collapse,
  Input,
  Modal,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  UnstyledButton,
} from '@mantine/core';
import { useState } from 'react';
import { MillraceError } from '../../../../../client/client.ts';
import { request } from '../../../api/client.ts';
import { CodeEditor } from '../../../parts/code/code-editor.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { FormEnd } from '../../../parts/forms/form-end.tsx';
import { NamesInput } from '../../../parts/names-input.tsx';
import { useAction } from '../../../parts/use-action.ts';
import { useWebhooksAgain } from '../parts/search-params.ts';
import type { Endpoint } from '../parts/webhook-api-types.ts';
import { changesOf, type FormValues, newBody, valuesOf } from './endpoint-values.ts';
import { useEventTypes } from './event-types.ts';
import { HeadersField } from './headers-field.tsx';

interface EndpointFormProps {
  /** Absent for a new one. */
  readonly endpoint?: Endpoint;
  readonly onClose: () => void;
  readonly onSaved: (saved: Endpoint & { readonly secret?: string }) => void;
}

export function EndpointForm({ endpoint, onClose, onSaved }: EndpointFormProps) {
  const [values, setValues] = useState<FormValues>(() => valuesOf(endpoint));
  const [showsMore, setShowsMore] = useState(endpoint !== undefined);
  const { busy, error, run } = useAction();
  const types = useEventTypes();
  const again = useWebhooksAgain();
  const set = (changes: Partial<FormValues>) => setValues((before) => ({ ...before, ...changes }));
  const save = async () => {
    const { body: saved } =
      endpoint === undefined
        ? await request<Endpoint & { readonly secret: string }>('POST', '/webhooks/endpoints', {
            body: newBody(values),
          })
        : await request<Endpoint>('PATCH', `/webhooks/endpoints/${endpoint.id}`, {
            body: changesOf(endpoint, values),
          });
    await again();
    onSaved(saved);
  };
  return (
    <Modal opened onClose={onClose} size="lg" title={endpoint === undefined ? 'New endpoint' : 'Edit endpoint'}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void run(save);
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="URL"
            description="Where to send events. In production it must use https and a public host"
            placeholder="https://shop.example.com/hooks/millrace"
            required
            data-autofocus
            value={values.url}
            error={issueAt(error, '/url')}
            onChange={({ currentTarget }) => set({ url: currentTarget.value })}
          />
          <NamesInput
            label="Event types"
            description="A star matches any name: todos.* matches every event of todos"
            required
            data={[...types]}
            value={values.types}
            error={issueAt(error, '/types')}
            onChange={(chosen) => set({ types: chosen })}
          />
          <TextInput
            label="Description"
            description="For your own reference"
            value={values.name}
            error={issueAt(error, '/name')}
            onChange={({ currentTarget }) => set({ name: currentTarget.value })}
          />
          <UnstyledButton onClick={() => setShowsMore(!showsMore)} aria-expanded={showsMore}>
            <Text size="sm" td="underline">
              Filter, headers, retries, rate
            </Text>
          </UnstyledButton>
          <Collapse expanded={showsMore}>
            {showsMore ? <More values={values} set={set} error={error} /> : null}
          </Collapse>
          {error === null ? null : <Failure error={error} />}
          <FormEnd verb={endpoint === undefined ? 'Create endpoint' : 'Save'} busy={busy} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}

interface MoreProps {
  readonly values: FormValues;
  readonly set: (changes: Partial<FormValues>) => void;
  readonly error: unknown;
}

function More({ values, set, error }: MoreProps) {
  return (
    <Stack gap="sm">
      <Input.Wrapper
        label="Filter"
        labelElement="div"
        description={'Only events of documents that match, such as {"status":"paid"}. Empty: all'}
        error={issueAt(error, '/filter')}
      >
        <Box mt={4}>
          <CodeEditor
            label="Filter"
            language="json"
            lines={3}
            value={values.filter}
            onChange={(filter) => set({ filter })}
          />
        </Box>
      </Input.Wrapper>
      <HeadersField headers={values.headers} onHeaders={(headers) => set({ headers })} />
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm" verticalSpacing="xs">
        <Select
          label="Retries"
          data={[
            { value: 'standard', label: '8 attempts in 28 hours' },
            { value: 'long', label: '10 attempts in 75 hours' },
            { value: 'none', label: 'never' },
          ]}
          allowDeselect={false}
          value={values.retrySchedule}
          onChange={(retrySchedule) => set({ retrySchedule: retrySchedule ?? 'standard' })}
        />
        <Select
          label="Ordering"
          data={[
            { value: 'none', label: 'none (fastest)' },
            { value: 'document', label: 'in order per document' },
          ]}
          allowDeselect={false}
          value={values.ordering}
          onChange={(ordering) => set({ ordering: ordering ?? 'none' })}
        />
        <NumberInput
          label="Requests per second"
          placeholder="no limit"
          min={0.001}
          max={1000}
          value={values.rate}
          error={issueAt(error, '/ratePerSecond')}
          onChange={(rate) => set({ rate })}
        />
      </SimpleGrid>
    </Stack>
  );
}

/** The server's error for one field. */
function issueAt(error: unknown, pointer: string): string | undefined {
  if (error instanceof SyntaxError) return pointer === '/filter' ? error.message : undefined;
  if (!(error instanceof MillraceError)) return undefined;
  return error.problem.errors?.find((issue) => issue.pointer === pointer || issue.pointer.startsWith(`${pointer}/`))
    ?.detail;
}
