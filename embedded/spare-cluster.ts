/** SpareCluster: a cluster that starts before it is asked for, while a test runner collects its tests. */
import { isDeepStrictEqual } from 'node:util'
import type { EmbeddedClusterOptions } from './embedded-options.ts'

/** As far as this file needs it: an EmbeddedCluster. */
interface Closeable {
  close(): Promise<void>
}

export class SpareCluster<C extends Closeable> {
  readonly #start: (options: EmbeddedClusterOptions) => Promise<C>
  #spare: { readonly options: EmbeddedClusterOptions; readonly cluster: Promise<C> } | undefined

  constructor(start: (options: EmbeddedClusterOptions) => Promise<C>) {
    this.#start = start
  }

  /** Resolves when it has started. When it cannot start, the `start` that gets it rejects with the reason. */
  async prepare(options: EmbeddedClusterOptions): Promise<void> {
    this.#spare ??= { options, cluster: this.#start(options) }
    await this.#spare.cluster.catch(() => {})
  }

  /** The spare cluster if it was prepared with these options; otherwise another one, and the spare ends. */
  async start(options: EmbeddedClusterOptions): Promise<C> {
    const spare = this.#spare
    this.#spare = undefined
    if (spare !== undefined) {
      if (isDeepStrictEqual(spare.options, options)) return await spare.cluster
      void spare.cluster.then((cluster) => cluster.close()).catch(() => {})
    }
    return await this.#start(options)
  }
}
