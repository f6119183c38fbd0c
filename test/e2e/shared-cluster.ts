/** One cluster of three nodes that the test files of stock clients share; each works in a namespace of its own. */
import { inject } from 'vitest'
import { inTurn } from '../support/start-turn.ts'
import { builtOnce, onceIn } from './built.ts'
import { openPlace } from './place.ts'
import type { PlacedCluster } from './place.ts'

/** Starts the cluster if no other test file has; it is taken down after the last one, or when the run of tests is killed. */
export async function sharedCluster(): Promise<PlacedCluster> {
  const root = inject('sharedHome')
  // The process that runs all tests judges it: this one may end before the last test.
  const cluster = openPlace(root, { isJudged: false }).cluster('shared')
  await builtOnce()
  await onceIn(root, 'up', async () => {
    await inTurn(async () => await cluster.skiff('up'))
  })
  return cluster
}
