/**
 * Runs reports of users against started products, in development and in production mode:
 * `node test/reports/run.ts [--mode production] [--only A1,B3]`. Ends with 1 when one of them fails.
 */
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Products } from './products.ts';
import type { Mode, Report } from './report.ts';

/** Files of this folder that hold no reports. */
const OTHERS = ['report.ts', 'products.ts', 'run.ts'];

type End = () => Promise<unknown>;

/** Runs the reports that were chosen. @returns how many failed */
export async function runReports(modes: readonly Mode[], only: readonly string[]): Promise<number> {
  const reports = (await allReports()).filter(({ point }) => only.length === 0 || only.includes(point));
  let failed = 0;
  const ends: End[] = [];
  try {
    const products = await Products.open((end) => ends.push(end));
    for (const mode of modes) {
      const product = await products.start(mode, {}, (end) => ends.push(end));
      for (const report of reports) {
        const own: End[] = [];
        const another = (settings: Readonly<Record<string, string>>) =>
          products.start(mode, settings, (end) => own.push(end));
        const error = await report.run({ ...product, another }).then(
          () => null,
          (reason: unknown) => reason,
        );
        await endAll(own);
        if (error !== null) failed += 1;
        console.log(`${error === null ? '✓' : '✗'} ${mode} ${report.point} ${report.title}`);
        if (error !== null) console.log(error);
      }
    }
    console.log(`${reports.length * modes.length - failed} passed, ${failed} failed`);
  } finally {
    await endAll(ends);
  }
  return failed;
}

async function endAll(ends: End[]): Promise<void> {
  for (const end of ends.reverse()) await end();
}

async function allReports(): Promise<Report[]> {
  const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.ts') && !OTHERS.includes(file));
  const modules: { readonly reports: readonly Report[] }[] = await Promise.all(
    files.map((file) => import(`./${file}`)),
  );
  const numbered = ({ point }: Report) => point.replace(/\d+/, (digits) => digits.padStart(3, '0'));
  return modules.flatMap(({ reports }) => reports).sort((one, other) => numbered(one).localeCompare(numbered(other)));
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { mode: { type: 'string' }, only: { type: 'string', default: '' } } });
  const modes: readonly Mode[] = ['development', 'production'];
  const chosen = modes.filter((mode) => values.mode === undefined || values.mode === mode);
  const failed = await runReports(chosen, values.only.split(',').filter(Boolean));
  process.exitCode = failed > 0 ? 1 : 0;
}
