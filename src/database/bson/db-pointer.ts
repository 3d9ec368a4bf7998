/**
 * A DBPointer, the deprecated BSON type 0x0c (bsonspec.org, version 1.1): the name of a collection and an id. The
 * driver reads a DBPointer as a DBRef, the same object that it makes of a document with fields `$ref` and `$id`. A
 * separate class keeps the two apart. The driver refuses to write this class.
 */
import type { ObjectId } from 'mongodb';

export class DbPointer {
  readonly collection: string;
  readonly id: ObjectId;

  constructor(collection: string, id: ObjectId) {
    this.collection = collection;
    this.id = id;
  }

  /** The name by which this code and the driver recognize classes of BSON values. */
  get _bsontype(): 'DBPointer' {
    return 'DBPointer';
  }
}
