/** The fields that only a provider of SAML has. What else there is of it is written as JSON (docs/saml.md). */
import { Textarea, TextInput } from '@mantine/core';
import type { ChangeEvent } from 'react';
import { Copyable } from '../../parts/copy.tsx';

interface SamlFieldsProps {
  /** Where people reach the server. */
  readonly base: string;
  readonly name: string;
  /** What an empty field of a secret means; empty for a new provider. */
  readonly kept: string;
  readonly field: (member: string) => {
    readonly value: string;
    readonly onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => void;
    readonly autoComplete: string;
  };
}

export function SamlFields({ base, name, kept, field }: SamlFieldsProps) {
  return (
    <>
      <Copyable text={`${base}/auth/saml/${name}/metadata`} what="the address of our metadata" />
      <TextInput
        label="Metadata of the provider"
        description="Its address. Without one, write metadata, or issuer, entryPoint and certificates, into More"
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
