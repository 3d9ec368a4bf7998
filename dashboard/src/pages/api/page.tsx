/** Requests to copy and to try: how a program reads and writes the data. */
import { Anchor, Button, Group, SegmentedControl, Select, Stack, Tabs, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource, useSession } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { BASE_PATH, SERVER } from '../../api/server.ts';
import { CodeEditor } from '../../parts/code/code-editor.tsx';
import { Copyable } from '../../parts/copy.tsx';
import { reportFailure } from '../../parts/failure.tsx';
import { numberText } from '../../parts/numbers.ts';
import { Page } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { useShape } from '../data/parts/collection-schema.ts';
import type { Shape } from '../data/parts/columns.ts';
import { typeOf } from './document-typescript-type.ts';
import {
  curlOf,
  type Inputs,
  LANGUAGES,
  REQUESTS,
  type RequestName,
  requestOf,
  requestsBody,
  requestsId,
  requestsList,
  typescriptOf,
} from './requests.ts';
import { type ApiSearch, apiRoute } from './route.ts';
import { TryIt } from './try-it.tsx';

/** Shown where there is no collection yet. */
const FIRST = 'todos';

export function ApiPage() {
  const search = apiRoute.useSearch();
  const navigate = apiRoute.useNavigate();
  const { data: collections = [] } = useResource<readonly { readonly name: string }[]>('/admin/collections', [
    '*.created',
    '*.dropped',
    '*.renamed',
  ]);
  const set = (changed: ApiSearch) => void navigate({ search: (before) => ({ ...before, ...changed }) });
  const collection = search.collection ?? collections[0]?.name ?? FIRST;
  const names = [...new Set([collection, ...collections.map(({ name }) => name)])];
  return (
    <Page title="API" about="Requests for your collections, with the URL of this instance.">
      <Group align="flex-end" gap="sm">
        <Select
          label="Collection"
          data={names}
          value={collection}
          onChange={(name) => set({ collection: name ?? undefined })}
          allowDeselect={false}
          searchable
          w={240}
        />
        <SegmentedControl
          aria-label="Language"
          data={LANGUAGES.map(({ value, label }) => ({ value, label }))}
          value={search.language ?? 'curl'}
          onChange={(value) => set({ language: LANGUAGES.find((one) => one.value === value)?.value })}
        />
      </Group>
      <Requests key={collection} collection={collection} search={search} onChange={set} />
      <OpenApi />
    </Page>
  );
}

interface RequestsProps {
  readonly collection: string;
  readonly search: ApiSearch;
  readonly onChange: (changed: ApiSearch) => void;
}

function Requests({ collection, search, onChange }: RequestsProps) {
  const { state } = useSession();
  const { build, why } = useRights();
  const { data: shape } = useShape(collection);
  const [changed, setChanged] = useState<Partial<Inputs>>({});
  const name = search.request ?? 'list';
  const inputs = { ...examplesFrom(shape, name), ...changed };
  const change = (more: Partial<Inputs>) => setChanged({ ...changed, ...more });
  const target = { base: SERVER, collection, signed: state !== 'open' };
  const code = search.language === 'typescript' ? typescriptOf(name, target, inputs) : curlOf(name, target, inputs);
  return (
    <>
      <Tabs
        value={name}
        onChange={(value) => {
          // A body for a creation does not fit a change.
          setChanged(({ body: _, ...others }) => others);
          onChange({ request: REQUESTS.find((one) => one.name === value)?.name });
        }}
        keepMounted={false}
      >
        <Tabs.List>
          {REQUESTS.map((one) => (
            <Tabs.Tab key={one.name} value={one.name}>
              {one.title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={name} pt="md">
          <Stack>
            <Title order={2} size="h4">
              {requestOf(name).title} {collection}
            </Title>
            <Text size="sm">{requestOf(name).about}</Text>
            <Fields name={name} inputs={inputs} onChange={change} />
            <Copyable text={code} what="the request" />
            {target.signed ? (
              <Text size="sm" c="dimmed">
                <code>TOKEN</code> is an API key, or an access token of a user.{' '}
                <PageLink to={KEYS} size="sm">
                  Create key
                </PageLink>
              </Text>
            ) : null}
            <TryIt key={name} name={name} collection={collection} inputs={inputs} refused={build ? null : why} />
          </Stack>
        </Tabs.Panel>
      </Tabs>
      {shape === undefined || shape.fields.length === 0 ? null : (
        <Stack gap="xs">
          <Title order={2} size="h4">
            Document type
          </Title>
          <Text size="sm">
            Inferred from a sample of {numberText(shape.sampled)} documents. Other documents may differ.
          </Text>
          <Copyable text={typeOf(collection, shape)} what="the type" />
        </Stack>
      )}
    </>
  );
}

const KEYS: string = '/keys';

interface FieldsProps {
  readonly name: RequestName;
  readonly inputs: Inputs;
  readonly onChange: (changed: Partial<Inputs>) => void;
}

function Fields({ name, inputs, onChange }: FieldsProps) {
  const text = (field: keyof Inputs, label: string, placeholder: string) => (
    <TextInput
      label={label}
      placeholder={placeholder}
      value={inputs[field]}
      onChange={({ currentTarget }) => onChange({ [field]: currentTarget.value })}
      spellCheck={false}
      flex={field === 'filter' ? '2 1 220px' : '1 1 110px'}
    />
  );
  return (
    <>
      <Group gap="sm">
        {requestsList(name) ? (
          <>
            {text('filter', 'Filter', '{"done": false}')}
            {text('sort', 'Sort', '-_meta.createdAt')}
            {text('limit', 'Limit', 'all')}
          </>
        ) : null}
        {requestsId(name) ? text('id', 'Id', 'Id of a document') : null}
      </Group>
      {requestsBody(name) ? (
        <CodeEditor
          label={name === 'create' ? 'Document' : 'Changes'}
          language="json"
          value={inputs.body}
          onChange={(body) => onChange({ body })}
          lines={5}
        />
      ) : null}
    </>
  );
}

/** Values of existing documents, so that a request works unchanged. */
function examplesFrom(shape: Shape | undefined, name: RequestName): Inputs {
  const fields = (shape?.fields ?? []).filter(({ path, example }) => /^\w+$/.test(path) && example !== undefined);
  const id = fields.find(({ path }) => path === 'id')?.example;
  const values = fields
    .filter(({ path }) => path !== 'id')
    .map(({ path, example }): [string, unknown] => [path, example]);
  const body =
    values.length === 0 ? { title: 'Buy milk' } : Object.fromEntries(values.slice(0, name === 'change' ? 1 : 8));
  return {
    filter: '',
    sort: '',
    limit: '10',
    id: id === undefined ? '' : String(id),
    body: JSON.stringify(body, null, 2),
  };
}

function OpenApi() {
  const { state } = useSession();
  const download = async () => {
    const { body } = await request<object>('GET', '/openapi.json');
    const address = URL.createObjectURL(new Blob([JSON.stringify(body)], { type: 'application/json' }));
    const link = document.createElement('a');
    link.href = address;
    link.download = 'openapi.json';
    link.click();
    URL.revokeObjectURL(address);
  };
  const credential = state === 'open' ? '' : ' -H "authorization: Bearer $TOKEN"';
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        OpenAPI document
      </Title>
      <Text size="sm">
        The <Anchor href={`${BASE_PATH}/docs`}>API reference</Anchor> describes every route, with requests to send.
        Client generators use the OpenAPI 3.1 document:
      </Text>
      <Group>
        <Button variant="default" onClick={() => void download().catch(reportFailure)}>
          Download openapi.json
        </Button>
      </Group>
      <Copyable
        text={`curl -o openapi.json ${SERVER}/openapi.json${credential}\nnpx openapi-typescript openapi.json -o api.ts`}
        what="the command"
      />
    </Stack>
  );
}
