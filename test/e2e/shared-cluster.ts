/** One cluster of three nodes that the test files of stock clients share; each works in a namespace of its own. */
import { inject } from 'vitest'
import { buildWhenStale, clusterIn, onceIn } from './cluster.ts'
import type { TestCluster } from './cluster.ts'

/** Starts the cluster if no other test file has; it is taken down after the last one. */
export async function sharedCluster(): Promise<TestCluster> {
  const home = inject('sharedHome')
  const cluster = clusterIn(home, 'shared')
  await builtOnce()
  await onceIn(home, 'up', async () => {
    await cluster.skiff('up')
  })
  return cluster
}

/** Resolves when dist is newer than the sources. */
export async function builtOnce(): Promise<void> {
  await onceIn(inject('sharedHome'), 'build', buildWhenStale)
}
