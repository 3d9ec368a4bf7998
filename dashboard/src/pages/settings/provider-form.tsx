/** Creates or changes a provider. A secret is never shown; an empty field keeps it. */
import {
  Alert,
  Group,
  Modal,
  PasswordInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { FormEnd } from '../../parts/forms/form-end.tsx';
import { useAction } from '../../parts/use-action.ts';
import { bodyOf, type ListedProvider, PROVIDER_KINDS, type ProviderKind, restOf, returnUrlOf } from './providers.ts';
import { SamlFields } from './saml-fields.tsx';

interface ProviderFormProps {
  /** Absent for a new one. */
  readonly provider?: ListedProvider;
  /** Public URL of the server. */
  readonly base: string;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

export function ProviderForm({ provider, base, onClose, onSaved }: ProviderFormProps) {
  const { busy, error, run } = useAction();
  const [kind, setKind] = useState<ProviderKind>(provider?.kind ?? 'google');
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({
    name: provider?.name ?? 'google',
    clientId: provider?.clientId ?? '',
    issuer: provider?.issuer ?? '',
    teamId: provider?.teamId ?? '',
    keyId: provider?.keyId ?? '',
    metadataUrl: provider?.saml?.metadataUrl ?? '',
    certificate: provider?.saml?.certificate ?? '',
  });
  const [register, setRegister] = useState(provider?.register ?? false);
  const [enabled, setEnabled] = useState(provider?.enabled ?? true);
  const [rest, setRest] = useState(restOf(provider));
  const location = PROVIDER_KINDS.find((one) => one.kind === kind)?.location;
  const field = (property: string) => ({
    value: texts[property] ?? '',
    onChange: ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }) =>
      setTexts((now) => ({ ...now, [property]: value })),
    autoComplete: 'off',
  });
  const save = async () => {
    const body = { ...bodyOf(kind, texts, rest), register, enabled };
    if (provider === undefined) await request('POST', '/admin/providers', { body });
    else await request('PUT', `/admin/providers/${provider.name}`, { body });
    onSaved();
  };
  const kept = provider === undefined ? '' : 'Empty: the secret stays unchanged. It is never shown';
  return (
    <Modal opened onClose={onClose} size="lg" title={provider === undefined ? 'Add provider' : `Edit ${provider.name}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(save);
        }}
      >
        <Stack gap="sm">
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="xs">
            <Select
              label="Kind"
              data={PROVIDER_KINDS.map((one) => ({ value: one.kind, label: one.title }))}
              value={kind}
              allowDeselect={false}
              disabled={provider !== undefined}
              onChange={(value) => {
                const chosen = PROVIDER_KINDS.find((one) => one.kind === value);
                if (chosen === undefined) return;
                setKind(chosen.kind);
                setTexts((now) => ({ ...now, name: chosen.name }));
              }}
            />
            <TextInput label="Name" required disabled={provider !== undefined} {...field('name')} />
          </SimpleGrid>
          <Text size="sm">
            {kind === 'saml'
              ? `At the provider (${location}), enter this URL as the Assertion Consumer Service URL, or import our metadata:`
              : `At the provider (${location}), enter this redirect URL, and copy the client id and the secret from there:`}
          </Text>
          <Copyable text={returnUrlOf(base, kind, texts['name'] ?? '')} what="the redirect URL" />
          {kind === 'oidc' ? (
            <TextInput
              label="Issuer"
              description="The URL to which /.well-known/openid-configuration is appended"
              required
              {...field('issuer')}
            />
          ) : null}
          <TextInput label={kind === 'saml' ? 'Our entity id' : 'Client id'} required {...field('clientId')} />
          {kind === 'saml' ? (
            <SamlFields base={base} name={texts['name'] ?? ''} kept={kept} field={field} />
          ) : kind === 'apple' ? (
            <>
              <Group grow>
                <TextInput label="Team id" required {...field('teamId')} />
                <TextInput label="Key id" required {...field('keyId')} />
              </Group>
              <Textarea
                label="Private key"
                description={kept || 'The content of AuthKey_….p8'}
                required={provider === undefined}
                autosize
                minRows={3}
                {...field('privateKey')}
              />
            </>
          ) : (
            <PasswordInput
              label="Client secret"
              description={kept}
              required={provider === undefined && kind !== 'oidc'}
              {...field('clientSecret')}
            />
          )}
          <Switch
            label="First sign-in creates a user"
            description="For everyone with an account at the provider, unless the fields below require more"
            checked={register}
            onChange={({ currentTarget }) => setRegister(currentTarget.checked)}
          />
          <Switch
            label="Enabled"
            checked={enabled}
            onChange={({ currentTarget }) => setEnabled(currentTarget.checked)}
          />
          <Textarea
            label="More options, as JSON"
            description="Such as scopes, mapping, require, roles: docs/providers.md has an example for each provider"
            placeholder={'{ "require": { "hd": "example.org" } }'}
            autosize
            minRows={2}
            maxRows={12}
            value={rest}
            onChange={({ currentTarget }) => setRest(currentTarget.value)}
          />
          {error instanceof SyntaxError ? (
            <Alert color="red" title="“More options” is not valid JSON" role="alert">
              {error.message}
            </Alert>
          ) : error === null ? null : (
            <Failure error={error} />
          )}
          <FormEnd verb={provider === undefined ? 'Add provider' : 'Save'} busy={busy} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
