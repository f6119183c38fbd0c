/** ChangeHandlers: who in this process follows which resource. */
import type { Change } from './collection.ts'
import type { ObjectChange } from './object-reader.ts'

type ChangeHandler = (change: ObjectChange) => void

export class ChangeHandlers {
  readonly #handlers = new Map<string, Set<ChangeHandler>>()

  /** Returns the way to stop. */
  add(storagePrefix: string, handler: ChangeHandler): () => void {
    let handlers = this.#handlers.get(storagePrefix)
    if (handlers === undefined) this.#handlers.set(storagePrefix, (handlers = new Set()))
    handlers.add(handler)
    return () => void handlers.delete(handler)
  }

  tell(storagePrefix: string, change: Change): void {
    const handlers = this.#handlers.get(storagePrefix)
    if (handlers === undefined || handlers.size === 0) return
    const { entry, previous } = change
    const shown = entry ?? previous
    if (shown === undefined) return
    const type = entry === undefined ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED'
    for (const handler of handlers) {
      handler({ type, key: shown.key, object: () => shown.object() })
    }
  }
}
