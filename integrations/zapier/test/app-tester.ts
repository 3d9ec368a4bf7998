/**
 * Runs parts of the app as Zapier does: with its client, its middleware and its checks of results. For tests against a real
 * Millrace.
 */
import zapier, { createAppTester } from 'zapier-platform-core';
import app from '../src/index.ts';

/** The argument of a function of the app besides `z`. */
export interface TestBundle {
  readonly authData?: Readonly<Record<string, string>>;
  readonly inputData?: Readonly<Record<string, unknown>>;
  readonly targetUrl?: string;
  readonly subscribeData?: object;
  readonly cleanedRequest?: unknown;
  readonly rawRequest?: { readonly headers: Readonly<Record<string, string>>; readonly content: string };
}

/** An error in the form that Zapier's platform receives. */
export interface ZapierError {
  /** Such as `HaltedError`; `AppError` for `z.errors.Error`. */
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly status?: number;
  /** Seconds until Zapier repeats a throttled request. */
  readonly delay?: number;
}

/** The app as it is passed to Zapier. */
export const definition: Readonly<Record<string, unknown>> = { ...app };

const tester = createAppTester(app);

/**
 * Runs one function of the app.
 * @param path from the app down, such as `creates.create_document.operation.perform`; a number is a list index
 */
export async function run(path: string, bundle: TestBundle) {
  const found: unknown = path
    .split('.')
    .reduce<unknown>(
      (part, name) => (typeof part === 'object' && part !== null ? Reflect.get(part, name) : undefined),
      app,
    );
  if (typeof found !== 'function') throw new Error(`The app has no function at ${path}`);
  // Zapier stores bundles as JSON.
  const result: unknown = await tester(found as () => unknown, JSON.parse(JSON.stringify(bundle)));
  return result;
}

/** The fields that Zapier shows: those of a list, with the results of the functions in it. */
export async function fieldsOf(
  path: string,
  bundle: TestBundle,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const [kind = '', key = '', list = ''] = path.split('.');
  const fields: unknown = Reflect.get(Reflect.get(Reflect.get(Reflect.get(app, kind), key), 'operation'), list);
  if (!Array.isArray(fields)) throw new Error(`The app has no fields at ${path}`);
  const shown = await Promise.all(
    fields.map(async (field, at) =>
      typeof field === 'function' ? await run(`${kind}.${key}.operation.${list}.${at}`, bundle) : field,
    ),
  );
  return shown.flat();
}

/** The error of a run; fails if it succeeds. */
export async function errorOf(running: Promise<unknown>): Promise<ZapierError> {
  try {
    await running;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { name, message } = error;
    if (!message.startsWith('{')) return { name, message };
    return { name, ...JSON.parse(message) };
  }
  throw new Error('It did not end with an error');
}

/** Called by the command; the types of the package omit it. */
type CreateHandler = (
  definition: object,
) => (event: { readonly command: 'validate' }) => Promise<{ readonly results: readonly unknown[] }>;

/** The errors that `zapier-platform validate --without-style` finds in the app. */
export async function structuralErrors(requested: object = app): Promise<readonly unknown[]> {
  const createHandler: CreateHandler = Reflect.get(zapier, 'createAppHandler');
  return (await createHandler(requested)({ command: 'validate' })).results;
}

/** The triggers that subscribe and never unsubscribe, which Zapier's schema accepts. */
export function hooksWithoutEnd(): readonly string[] {
  return Object.entries(app.triggers)
    .filter(([, { operation }]) => operation.type === 'hook' && !('performUnsubscribe' in operation))
    .map(([key]) => key);
}
