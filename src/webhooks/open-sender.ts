/** Chooses the sender of webhooks by the settings: Svix if configured, otherwise Millrace itself. */
import { type Config, ConfigError } from '../config/config.ts';
import type { Mongo } from '../database/mongo.ts';
import type { Egress } from '../egress/egress.ts';
import type { LogCallback } from '../events/log/log-callback.ts';
import { DirectSender } from './sending/direct/direct-sender.ts';
import type { Sender, SenderEvents, StoredEndpointReader } from './sending/sender.ts';

export interface SenderDeps {
  readonly mongo: Pick<Mongo, 'log'>;
  readonly egress: Egress;
  readonly onLog: LogCallback;
  /** Version of the program. */
  readonly version: string;
}

/** Creates the sender without starting it. */
export type MakeSender = (events: SenderEvents, stored: StoredEndpointReader) => Sender | Promise<Sender>;

/** @throws ConfigError if the egress policy blocks the URL of Svix */
export function senderBy({ svix }: Config['webhooks'], { version, ...needs }: SenderDeps): MakeSender {
  if (svix === null) return (events) => new DirectSender({ ...needs, events, version });
  const issue = needs.egress.checkUrl(svix.url);
  if (issue !== null) {
    const hint = 'Add the network of your own server to MILLRACE_EGRESS_ALLOW.';
    throw new ConfigError([`MILLRACE_SVIX_URL: the URL ${issue}. ${hint}`]);
  }
  return async (events, stored) => {
    const { SvixSender } = await import('./sending/svix/svix-sender.ts');
    return new SvixSender({ ...needs, ...svix, events, stored });
  };
}
