/** EtcdKeys: where a store's keys lie in etcd: the prefix of the flag stands in the place of what all of them begin with. */
import type { KeyValue } from '../store.ts'
import type { EtcdKeyValue, KeyRange } from './etcd-messages.ts'

export class EtcdKeys {
  readonly #prefix: Buffer
  readonly #root: string
  /** Beside the store's keys: says that the store is being filled (etcd-load.ts). */
  readonly fillMark: Buffer
  /** Below the prefix, and no key of the store: written to see how far a watch of the prefix has come. */
  readonly progressMark: Buffer

  /** `prefix` as in `--etcd-prefix`; slashes around it make no difference. All keys of the store begin with `root`. */
  constructor(prefix: string, root = '') {
    this.#root = root
    const name = prefix.split('/').filter((part) => part !== '')
    this.#prefix = Buffer.from(`/${name.map((part) => `${part}/`).join('')}`)
    this.fillMark = Buffer.concat([this.#prefix.subarray(0, -1), Buffer.from('\0skiff-fill')])
    this.progressMark = this.#withPrefix('\0skiff-progress')
  }

  /** Throws a TypeError for a key that has no UTF-8 form, or does not begin with the root. */
  inEtcd(key: string): Buffer {
    const refuse = (why: string): TypeError =>
      new TypeError(`the key ${JSON.stringify(key)} ${why}`)
    if (!key.isWellFormed()) throw refuse('has no UTF-8 form')
    if (!key.startsWith(this.#root)) throw refuse(`does not begin with ${this.#root}`)
    return this.#withPrefix(key)
  }

  /** The keys that begin with `prefix`, from `from` on. Both begin with the root, or are a part of it. */
  range(prefix: string, from = ''): Required<KeyRange> {
    const first = this.#withPrefix(prefix)
    const start = this.#withPrefix(from)
    return { key: Buffer.compare(start, first) > 0 ? start : first, end: endOf(first) }
  }

  /** Of the store, its mark included. */
  isOwn(key: Buffer): boolean {
    if (key.equals(this.progressMark)) return false
    const { length } = this.#prefix
    const isBelow = key.length >= length && key.compare(this.#prefix, 0, length, 0, length) === 0
    return isBelow || key.equals(this.fillMark)
  }

  ofStore(key: Buffer): string {
    return this.#root + key.toString('utf8', this.#prefix.length)
  }

  keyValue({ key, value, createRevision, modRevision }: EtcdKeyValue): KeyValue {
    return { key: this.ofStore(key), value, createRevision, modRevision }
  }

  #withPrefix(key: string): Buffer {
    return Buffer.concat([this.#prefix, Buffer.from(key.slice(this.#root.length))])
  }
}

/** The first key after all that begin with `prefix`. */
function endOf(prefix: Buffer): Buffer {
  const end = Buffer.from(prefix)
  for (let at = end.length - 1; at >= 0; at -= 1) {
    const byte = end[at] ?? 0xff
    if (byte < 0xff) {
      end[at] = byte + 1
      return end.subarray(0, at + 1)
    }
  }
  return Buffer.from([0])
}
