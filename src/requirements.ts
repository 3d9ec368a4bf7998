/**
 * Checks the environment before any other module runs: an older Node would fail with an error that does not name the
 * cause. The first import of main.ts.
 */
const NEEDED_NODE = 24;

if (Number(process.versions.node.split('.')[0]) < NEEDED_NODE) {
  process.stderr.write(
    `Millrace needs Node ${NEEDED_NODE} or newer, and this is Node ${process.versions.node}. Install a newer one and start again.\n`,
  );
  process.exit(1);
}

/** How to fix a package without its binary part, as one line; null for any other error. */
export function missingNativeBinding(error: unknown): string | null {
  if (!(error instanceof Error) || !/native binding|No native build was found/.test(error.message)) return null;
  const name = /node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)/.exec(error.stack ?? '')?.[1] ?? 'A package';
  return (
    `${name} lacks its binary part for ${process.platform} on ${process.arch}: it was installed without optional packages. ` +
    'Install again with them: npm install --include=optional'
  );
}
