/** The thread that all embedded clusters of this process share. */
import { HostThread } from '../embedded/host-thread.ts'
import { embeddedOptions, namedNodes } from './embedded-options.ts'

/** The thread of this process; another one when it has died. */
let shared: HostThread | undefined

export function hostThread(): HostThread {
  if (shared === undefined || shared.hasEnded) shared = new HostThread()
  return shared
}

/** Starts the cluster that `startCluster()` without options will get, while the caller does something else. */
export function prepareCluster(): void {
  hostThread().prepare(embeddedOptions({ nodes: namedNodes(1) }))
}

/** Starts the thread and loads its code, while the caller does something else: it takes half of a first start. */
export function prepareEmbedded(): void {
  hostThread()
}
