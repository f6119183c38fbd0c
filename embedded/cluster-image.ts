/** ClusterImage: what an embedded cluster is made from again. */
import type { KeyValue } from '../components/store/store.ts'
import type { ClockState } from './cluster-clock.ts'
import type { EmbeddedClusterOptions, EmbeddedNode } from './embedded-options.ts'

/** A cluster at one moment. It shares the stored bytes with the cluster it was taken of. */
export interface ClusterImage {
  readonly options: EmbeddedClusterOptions
  readonly nodes: readonly (EmbeddedNode & { readonly isStopped: boolean })[]
  readonly kvs: readonly KeyValue[]
  readonly revision: number
  readonly clock: ClockState
  readonly files: ReadonlyMap<string, string>
}
