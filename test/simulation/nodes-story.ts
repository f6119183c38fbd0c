/** A story for simulations: of three nodes one is lost and comes back, one goes for good, and a new one comes. */
import type { SimulationOptions } from '../../library/index.ts'

const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 6,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 5,
        containers: [{ name: 'web', image: 'web:1' }],
        tolerations: ['not-ready', 'unreachable'].map((key) => ({
          key: `node.kubernetes.io/${key}`,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 30,
        })),
      },
    },
  },
}

export const nodesStory = {
  nodes: 3,
  story: async ({ client, node, addNode, sleep, eventually }) => {
    await eventually(async () => await client.apply(web))
    await sleep('30s')
    await node('node-1').stop()
    await sleep('2m')
    await addNode({ name: 'node-4' })
    await eventually(async () => await node('node-2').remove())
    await sleep('1m')
    await node('node-1').start()
  },
  check: async ({ client, nodes, eventually }) => {
    const names = nodes.map(({ name }) => name).join()
    if (names !== 'node-1,node-3,node-4') throw new Error(`the nodes are ${names}`)
    const pods = await eventually(async () => await client.list({ kind: 'Pod' }))
    const running = pods.filter(({ status }) => status.phase === 'Running')
    if (pods.length !== 6 || running.length !== 6)
      throw new Error(`${running.length} of ${pods.length} pods run`)
    const lost = pods.find(({ spec }) => !names.includes(spec.nodeName))
    if (lost !== undefined) throw new Error(`a pod is on ${lost['spec'].nodeName}`)
  },
} satisfies SimulationOptions
