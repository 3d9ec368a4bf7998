/**
 * A torture test as a command: `--profile short|long --seed N --mutation NAME --set name=value`. It exits with 1 if
 * there is an error.
 */
import { parseArgs } from 'node:util';

interface TortureOptions {
  readonly seed: number;
  readonly mutation: string;
}

export async function tortureCommand<T extends TortureOptions>(
  profiles: { readonly short: T; readonly long: T },
  torture: (options: T) => Promise<{ readonly issues: readonly unknown[] }>,
): Promise<never> {
  const { values } = parseArgs({
    options: {
      profile: { type: 'string', default: 'short' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      mutation: { type: 'string', default: 'none' },
      set: { type: 'string', multiple: true, default: [] },
    },
  });
  const own = Object.fromEntries(values.set.map((one) => one.split('=')).map(([name, value]) => [name, Number(value)]));
  const base = values.profile === 'long' ? profiles.long : profiles.short;
  const options: T = { ...base, seed: Number(values.seed), mutation: values.mutation, ...own };
  console.log(`# seed ${options.seed}, mutation ${options.mutation}`);
  const verdict = await torture(options);
  console.log(JSON.stringify(verdict, null, 1));
  process.exit(verdict.issues.length === 0 ? 0 : 1);
}
