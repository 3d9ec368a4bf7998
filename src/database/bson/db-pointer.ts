/**
 * A DBPointer, the deprecated BSON type 0x0c (bsonspec.org, version 1.1): the name of a collection and an id. The driver
 * reads one as a DBRef, the object that it also makes of documents with members `$ref` and `$id`. This class is no
 * document, so the two cannot be mixed up, and the driver refuses to write it.
 */
import type { ObjectId } from 'mongodb';

export class DbPointer {
  readonly collection: string;
  readonly id: ObjectId;

  constructor(collection: string, id: ObjectId) {
    this.collection = collection;
    this.id = id;
  }

  /** How classes of BSON values are known by name. */
  get _bsontype(): 'DBPointer' {
    return 'DBPointer';
  }
}
