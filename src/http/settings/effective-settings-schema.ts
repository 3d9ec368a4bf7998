/** Response schemas of the instance routes. Pure, without server imports: the dashboard uses the types. */
import Type, { type Static } from 'typebox';

const nullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const oneOf = <const T extends readonly string[]>(values: T, description: string) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], description });

export const EFFECTIVE_SETTINGS = Type.Object({
  mode: oneOf(['development', 'production'], 'The value of MILLRACE_MODE.'),
  version: Type.String({ description: 'Version of Millrace.' }),
  database: Type.Object({
    name: Type.String(),
    version: Type.String({ description: 'Version of MongoDB.' }),
    embedded: Type.Boolean({ description: 'Whether Millrace runs MongoDB itself.' }),
    dataDir: nullableText('The absolute path of the data folder of the MongoDB that Millrace runs; null without one.'),
  }),
  publicUrl: nullableText('MILLRACE_PUBLIC_URL; null when it is not set.'),
  request: Type.Object(
    {
      baseUrl: Type.String({ description: 'The URL of the server, as this request named it.' }),
      ip: Type.String({ description: 'The IP address of the client, as the server sees it.' }),
    },
    { description: 'The headers from a proxy.' },
  ),
  registration: oneOf(['open', 'closed'], 'Whether any client may create a user.'),
  masterKey: Type.Boolean({ description: 'Whether MILLRACE_MASTER_KEY encrypts secrets in the database.' }),
  email: Type.Object({
    transport: oneOf(['smtp', 'terminal', 'none'], 'What sends e-mails.'),
    server: nullableText('URL of the mail server, without its credentials.'),
    from: nullableText('The sender of e-mails.'),
  }),
  files: Type.Array(
    Type.Object({
      kind: oneOf(['gridfs', 's3'], 'MongoDB itself, or a bucket.'),
      location: Type.String({ description: 'The database, or the bucket with its prefix and server.' }),
    }),
    { description: 'Where bytes of files are. New files go to the first location.' },
  ),
  corsOrigins: Type.Array(Type.String(), {
    description: 'Origins of other pages that may call, MILLRACE_CORS_ORIGINS.',
  }),
  functions: oneOf(['on', 'jitless', 'off'], 'The value of MILLRACE_FUNCTIONS.'),
  limits: Type.Array(
    Type.Object({
      setting: Type.String({ description: 'Name of the environment variable.' }),
      description: Type.String(),
      value: Type.Union([Type.Number(), Type.Null()], { description: 'Null means no limit, or one by the memory.' }),
    }),
  ),
});

export type EffectiveSettings = Static<typeof EFFECTIVE_SETTINGS>;
