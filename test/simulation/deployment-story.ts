/** A story for simulations: a Deployment is made, grows, gets another image and goes. */
import type { SimulationOptions } from '../../library/index.ts'

const web = (replicas: number, image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { terminationGracePeriodSeconds: 5, containers: [{ name: 'web', image }] },
    },
  },
})

export const deploymentStory = {
  story: async ({ client, sleep, eventually }) => {
    await eventually(async () => await client.apply(web(3, 'web:1')))
    await sleep('40s')
    await eventually(async () => await client.apply(web(5, 'web:2')))
    await sleep('40s')
    await eventually(async () => {
      await client.delete({ kind: 'Deployment', name: 'web' }).catch(() => {})
      const left = await client.list({ kind: 'Deployment' })
      if (left.length > 0) throw new Error('it is still there')
    })
  },
  check: async ({ client, eventually }) => {
    const pods = await eventually(async () => await client.list({ kind: 'Pod' }))
    if (pods.length > 0) throw new Error(`${pods.length} pods are left`)
  },
} satisfies SimulationOptions
