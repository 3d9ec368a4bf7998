/** What needs attention, with the page where it can be fixed. Pure. */
import { counted } from '../../parts/numbers.ts';
import type { Facts } from './facts.ts';

export interface Advice {
  readonly text: string;
  /** The page to open; null where there is none. */
  readonly to: '/events' | '/functions' | '/policies' | '/settings' | '/webhooks' | null;
  /** The filter there. */
  readonly search?: { readonly tab?: 'runs'; readonly state?: string };
  /** Something is broken now; otherwise it is a warning. */
  readonly urgent: boolean;
}

/** A consumer this many events behind does not keep up. */
const MANY_BEHIND = 1_000;
const DAY_S = 86_400;

export function adviceFor(facts: Facts): Advice[] {
  return [...ofServer(facts), ...ofParts(facts), ...ofSettings(facts)];
}

function ofServer({ ready, state }: Facts): Advice[] {
  const found: Advice[] = [];
  if (ready === false) found.push({ text: 'The server is not ready.', to: null, urgent: true });
  if (state === undefined) return found;
  if (state.disk !== null && state.disk.level !== 'enough') {
    const what = state.disk.level === 'low' ? 'New documents and files are' : 'Every write of documents and files is';
    const free = Math.floor((state.disk.freeBytes ?? 0) / 1_048_576);
    found.push({
      text: `The disk of the data folder is almost full (${free} MB free). ${what} rejected.`,
      to: null,
      urgent: true,
    });
  }
  const { recorder, consumers, oplogSeconds } = state.events;
  if (recorder.error !== null) {
    found.push({ text: `Events are not recorded: ${recorder.error}.`, to: null, urgent: true });
  }
  for (const { name, behind } of consumers) {
    if (behind <= MANY_BEHIND) continue;
    found.push({ text: `The consumer ${name} is ${counted(behind, 'event')} behind.`, to: '/events', urgent: true });
  }
  if (state.functions.droppedRuns > 0) {
    const text = `${counted(state.functions.droppedRuns, 'run')} of functions could not be stored.`;
    found.push({ text, to: '/functions', urgent: true });
  }
  // The oplog of a new database covers little time, and grows.
  const isLong = oplogSeconds === null || oplogSeconds > DAY_S;
  if (!isLong && state.events.log.rows > 100_000) {
    const text = 'The oplog of MongoDB spans less than a day: a longer pause of all processes would lose events.';
    found.push({ text, to: null, urgent: false });
  }
  return found;
}

function ofParts({ endpoints, plugins, policies, failedDelivery, failedRun }: Facts): Advice[] {
  const found: Advice[] = [];
  const failing = endpoints.filter(({ enabled, health }) => enabled && health.failingSince !== null).length;
  if (failing > 0) found.push({ text: `${counted(failing, 'endpoint')} failing.`, to: '/webhooks', urgent: true });
  const disabled = endpoints.filter((one) => !one.enabled && one.disabledReason !== 'manual').length;
  if (disabled > 0) {
    const text = `${counted(disabled, 'endpoint')} disabled by the server.`;
    found.push({ text, to: '/webhooks', urgent: true });
  }
  if (failedDelivery) {
    const text = 'Deliveries failed after all retries.';
    found.push({ text, to: '/webhooks', search: { state: 'failed' }, urgent: false });
  }
  const functions = plugins.flatMap((plugin) => plugin.functions);
  const held = functions.filter(({ state }) => state === 'quarantined').length;
  if (held > 0) found.push({ text: `${counted(held, 'function')} in quarantine.`, to: '/functions', urgent: true });
  for (const { name, blockedCollections } of plugins.filter((one) => one.blockedCollections.length > 0)) {
    const which = blockedCollections.includes('*') ? 'all collections' : blockedCollections.join(', ');
    const text = `Writes to ${which} are rejected: the write hooks of the plugin ${name} cannot run because it has errors.`;
    found.push({ text, to: '/functions', urgent: true });
  }
  const faulty = plugins
    .filter((one) => one.diagnostics.length > 0 && one.blockedCollections.length === 0)
    .map(({ name }) => name);
  if (faulty.length > 0) {
    found.push({ text: `Not active because of errors: ${faulty.join(', ')}.`, to: '/functions', urgent: true });
  }
  if (failedRun) {
    const text = 'Runs of functions failed after all retries.';
    found.push({ text, to: '/functions', search: { tab: 'runs', state: 'failed' }, urgent: false });
  }
  if (policies === 0) {
    found.push({ text: 'No policies yet: only administrators have access.', to: '/policies', urgent: false });
  }
  return found;
}

function ofSettings({ settings }: Facts): Advice[] {
  if (settings?.mode !== 'production') return [];
  const found: Advice[] = [];
  const advise = (text: string) => found.push({ text, to: '/settings', urgent: false });
  if (settings.publicUrl === null) advise('Set MILLRACE_PUBLIC_URL for the links in e-mails, files and webhooks.');
  if (!settings.masterKey) advise('Set MILLRACE_MASTER_KEY to encrypt secrets in the database.');
  if (settings.email.transport === 'none') advise('E-mail is not set up: users cannot reset their passwords.');
  return found;
}
