/** What the routes on the installation answer with. Pure, and free of everything that only a server has: the dashboard takes the types. */
import Type, { type Static } from 'typebox';

const nullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const oneOf = <const T extends readonly string[]>(values: T, description: string) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], description });

export const EFFECTIVE_SETTINGS = Type.Object({
  mode: oneOf(['development', 'production'], 'As MILLRACE_MODE says.'),
  version: Type.String({ description: 'Version of Millrace.' }),
  database: Type.Object({
    name: Type.String(),
    version: Type.String({ description: 'Version of MongoDB.' }),
    embedded: Type.Boolean({ description: 'Whether Millrace runs MongoDB itself.' }),
    folder: nullableText('The absolute path of the data folder of the MongoDB that Millrace runs; null without one.'),
  }),
  publicUrl: nullableText('MILLRACE_PUBLIC_URL; null when it is not set.'),
  request: Type.Object(
    {
      base: Type.String({ description: 'The address of the server, as this request named it.' }),
      address: Type.String({ description: 'The address of the client, as the server sees it.' }),
    },
    { description: 'What a proxy has passed on.' },
  ),
  registration: oneOf(['open', 'closed'], 'Whether anybody may make an account.'),
  masterKey: Type.Boolean({ description: 'Whether secrets in the database are encrypted by MILLRACE_MASTER_KEY.' }),
  mail: Type.Object({
    way: oneOf(['smtp', 'terminal', 'none'], 'What takes letters.'),
    server: nullableText('Address of the mail server, without its credentials.'),
    from: nullableText('The sender of letters.'),
  }),
  files: Type.Array(
    Type.Object({
      kind: oneOf(['gridfs', 's3'], 'MongoDB itself, or a bucket.'),
      place: Type.String({ description: 'The database, or the bucket with its prefix and server.' }),
    }),
    { description: 'Where bytes of files are. New files go to the first place.' },
  ),
  origins: Type.Array(Type.String(), { description: 'Origins of other pages that may call, MILLRACE_CORS_ORIGINS.' }),
  functions: oneOf(['on', 'jitless', 'off'], 'As MILLRACE_FUNCTIONS says.'),
  limits: Type.Array(
    Type.Object({
      setting: Type.String({ description: 'Name of the environment variable.' }),
      about: Type.String(),
      value: Type.Union([Type.Number(), Type.Null()], { description: 'Null is no bound, or one by the memory.' }),
    }),
  ),
});

export type EffectiveSettings = Static<typeof EFFECTIVE_SETTINGS>;

export const MAIL_VERDICT = Type.Object({
  to: Type.Union([Type.String(), Type.Null()], { description: 'The address of the account; null when it has none.' }),
  sent: Type.Boolean({ description: 'Whether the letter was taken.' }),
  verdict: Type.String({ description: 'What was found, in words.' }),
});

export type MailVerdict = Static<typeof MAIL_VERDICT>;
