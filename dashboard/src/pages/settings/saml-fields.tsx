/** The inputs that only a SAML provider has. Its other fields are edited as JSON (docs/saml.md). */
import { Textarea, TextInput } from '@mantine/core';
import type { ChangeEvent } from 'react';
import { Copyable } from '../../parts/copy.tsx';

interface SamlFieldsProps {
  /** Public URL of the server. */
  readonly base: string;
  readonly name: string;
  /** The meaning of an empty secret; empty for a new provider. */
  readonly kept: string;
  readonly field: (field: string) => {
    readonly value: string;
    readonly onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => void;
    readonly autoComplete: string;
  };
}

export function SamlFields({ base, name, kept, field }: SamlFieldsProps) {
  return (
    <>
      <Copyable text={`${base}/auth/saml/${name}/metadata`} what="the URL of our metadata" />
      <TextInput
        label="Metadata URL of the provider"
        description="Without a URL, enter metadata, or issuer, entryPoint and certificates, under More options"
        {...field('metadataUrl')}
      />
      <Textarea
        label="Our certificate"
        description="Together with the private key: signs requests, and lets assertions be encrypted"
        autosize
        minRows={2}
        maxRows={6}
        {...field('certificate')}
      />
      <Textarea
        label="Our private key"
        description={kept || 'RSA, as PEM'}
        autosize
        minRows={2}
        maxRows={6}
        {...field('privateKey')}
      />
    </>
  );
}
