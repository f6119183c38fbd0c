/** The thread that all embedded clusters of this process share. */
import { HostThread } from '../embedded/host-thread.ts'

/** The thread of this process; another one when it has died. */
let shared: HostThread | undefined

export function hostThread(): HostThread {
  if (shared === undefined || shared.hasEnded) shared = new HostThread()
  return shared
}

/** Starts the thread and loads its code, while the caller does something else: it takes half of a first start. */
export function prepareEmbedded(): void {
  hostThread()
}
