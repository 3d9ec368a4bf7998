/**
 * The package `standardwebhooks` for Python, which verifies received deliveries: installed from PyPI at a fixed
 * version, apart from the dependencies.
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const VERSION = '1.1.0';
const FOLDER = fileURLToPath(
  new URL(`../../../node_modules/.cache/millrace/standardwebhooks-python-${VERSION}`, import.meta.url),
);
const INSTALL_MS = 240_000;
/** Reads cases as JSON from its arguments, and prints for each whether the signature is valid. */
const PROGRAM = `
import json, sys
from standardwebhooks import Webhook, WebhookVerificationError
found = []
for case in json.loads(sys.argv[1]):
    try:
        Webhook(case["secret"]).verify(case["body"], case["headers"])
        found.append(True)
    except WebhookVerificationError:
        found.append(False)
print(json.dumps(found))
`;

export interface SignedRequest {
  readonly secret: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Why it cannot run here, or undefined when it can. Installs it the first time. */
export function whyNoPython(): string | undefined {
  if (existsSync(FOLDER)) return undefined;
  mkdirSync(dirname(FOLDER), { recursive: true });
  const fresh = mkdtempSync(`${FOLDER}-`);
  try {
    const words = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', fresh];
    execFileSync('python3', [...words, `standardwebhooks==${VERSION}`], { stdio: 'pipe', timeout: INSTALL_MS });
    renameSync(fresh, FOLDER);
    return undefined;
  } catch {
    return existsSync(FOLDER) ? undefined : `python3 with pip could not install standardwebhooks ${VERSION}`;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Whether Python finds each request's signature valid. */
export async function verifiedByPython(cases: readonly SignedRequest[]): Promise<readonly boolean[]> {
  const env = { ...process.env, PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await promisify(execFile)('python3', ['-c', PROGRAM, JSON.stringify(cases)], { env });
  return JSON.parse(stdout);
}
