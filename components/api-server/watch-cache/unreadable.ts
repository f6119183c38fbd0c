/** Unreadable: a key whose stored bytes are no object, because they cannot be decrypted or decoded. It is known, but never shown. */

export interface Unreadable {
  /** `namespace/name` or `name`. */
  readonly key: string
  readonly storeKey: string
  readonly revision: number
  readonly fault: 'untransformable' | 'undecodable'
  /** The fault in words; nothing of the stored bytes. */
  readonly why: string
}

/** Thrown by whatever must look into an entry whose bytes turn out to be no object. */
export class UndecodableError extends Error {
  constructor(key: string, cause: unknown) {
    super(`the bytes stored for ${key} are no object`, { cause })
    this.name = 'UndecodableError'
  }
}
