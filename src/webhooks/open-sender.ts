/**
 * Chooses who sends webhooks, by the settings: Svix where it is named, else Millrace itself. Not here: how they send
 * (sending/).
 */
import type { Mongo } from '../database/mongo.ts';
import type { Egress } from '../egress/egress.ts';
import type { Note } from '../events/log/note.ts';
import { type Config, ConfigError } from '../kernel/config/config.ts';
import { DirectSender } from './sending/direct/direct-sender.ts';
import type { Sender, SenderEvents, StoredTargets } from './sending/sender.ts';

export interface SenderNeeds {
  readonly mongo: Pick<Mongo, 'log'>;
  readonly egress: Egress;
  readonly onNote: Note;
  /** Version of the program. */
  readonly version: string;
}

/** Makes the sender, which still has to be started. */
export type MakeSender = (events: SenderEvents, stored: StoredTargets) => Sender | Promise<Sender>;

/** @throws ConfigError when the address of Svix may not be called */
export function senderBy({ svix }: Config['webhooks'], { version, ...needs }: SenderNeeds): MakeSender {
  if (svix === null) return (events) => new DirectSender({ ...needs, events, version });
  const fault = needs.egress.checkUrl(svix.url);
  if (fault !== null) {
    const hint = 'The network of a server of your own must be in MILLRACE_EGRESS_ALLOW.';
    throw new ConfigError([`MILLRACE_SVIX_URL: the URL ${fault}. ${hint}`]);
  }
  return async (events, stored) => {
    const { SvixSender } = await import('./sending/svix/svix-sender.ts');
    return new SvixSender({ ...needs, ...svix, events, stored });
  };
}
