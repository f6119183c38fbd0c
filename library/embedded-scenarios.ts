/** Embedded clusters for `skiff scenario run --embedded`. */
import { rmSync } from 'node:fs'
import type { EmbeddedStarter } from '../scenarios/engine/runner.ts'
import { startEmbedded } from './embedded-form.ts'
import { namedNodes } from './embedded-options.ts'
import { scenarioClusterOver, temporaryFolder } from './scenario-cluster.ts'
import { VirtualTime } from './virtual-time.ts'

const waitMs = 60_000
/** As `skiff up`. */
const defaultNodes = 3

/** Throws for settings that an embedded cluster does not have. */
export const startScenarioCluster: EmbeddedStarter = async ({ cluster }, signal) => {
  const { nodes = defaultNodes, simulatedNodes = 0, dialect = 'kubernetes', flags = {} } = cluster
  const { stages } = cluster
  if (simulatedNodes > 0)
    throw new Error(
      'an embedded cluster has no simulatedNodes: use nodes, or run without --embedded',
    )
  if (dialect !== 'kubernetes')
    throw new Error(`an embedded cluster has no dialect ${dialect}: run without --embedded`)
  const folder = temporaryFolder()
  const form = await startEmbedded({
    nodes: namedNodes(nodes),
    flags,
    stages,
    waitMs,
    signal,
    folder,
  }).catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true })
    throw error
  })
  const time = new VirtualTime({
    clock: form.clock,
    mayLeap: () => form.speed?.() === 1,
    leap: async (ms) => (await form.leap?.(ms)) ?? 0,
  })
  const held = scenarioClusterOver(form, { time, folder })
  return {
    cluster: held.cluster,
    clock: time.clock,
    letGo: async () => {
      time.end()
      held.close()
      await form.close()
    },
  }
}
