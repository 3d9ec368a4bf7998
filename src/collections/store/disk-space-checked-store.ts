/** A document store on a disk that may become full: it rejects writes for which there is no space. */
import type { Mongo } from '../../database/mongo.ts';
import type { DiskSpaceMonitor } from '../../lib/disk-space.ts';
import { DocumentStore } from './store.ts';

type ParametersOf<Name extends 'insert' | 'insertMany' | 'change' | 'replaceMany' | 'stamp' | 'removeMany'> =
  Parameters<DocumentStore[Name]>;

/** Each write throws `storage-full` first when there is no space for it. */
export class DiskSpaceCheckedStore extends DocumentStore {
  readonly #space: DiskSpaceMonitor;

  constructor(mongo: Mongo, queryTimeoutMs: number, space: DiskSpaceMonitor) {
    super(mongo, queryTimeoutMs);
    this.#space = space;
  }

  override async insert(...given: ParametersOf<'insert'>): Promise<void> {
    this.#space.requireRoom();
    return super.insert(...given);
  }

  override async insertMany(...given: ParametersOf<'insertMany'>): Promise<void> {
    this.#space.requireRoom();
    return super.insertMany(...given);
  }

  override async change(...given: ParametersOf<'change'>): Promise<boolean> {
    this.#space.requireRoom();
    return super.change(...given);
  }

  override async replaceMany(...given: ParametersOf<'replaceMany'>): Promise<void> {
    this.#space.requireRoom();
    return super.replaceMany(...given);
  }

  override async stamp(...given: ParametersOf<'stamp'>): Promise<boolean> {
    this.#space.requireRoomToDelete();
    return super.stamp(...given);
  }

  override async removeMany(...given: ParametersOf<'removeMany'>): Promise<void> {
    this.#space.requireRoomToDelete();
    return super.removeMany(...given);
  }
}
