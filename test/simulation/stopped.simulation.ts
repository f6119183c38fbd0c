/** A simulation for `skiff simulate`: a controller that loses a Secret when it is stopped between its two writes. */
import type { SimulationContext, SimulationOptions } from '../../library/index.ts'

/** It marks each ConfigMap first, and makes the Secret only for those without a mark. */
async function marksFirst({ client, sleep, signal }: SimulationContext): Promise<void> {
  while (!signal.aborted) {
    for (const { metadata } of await client.list({
      kind: 'ConfigMap',
      labelSelector: 'app,!done',
    })) {
      const name = metadata?.name ?? ''
      const labels = { app: '', done: '' }
      await client.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels } })
      await client.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name } })
    }
    await sleep('1s').catch(() => {})
  }
}

// oxlint-disable-next-line import/no-default-export -- `skiff simulate` takes it
export default {
  controllers: [marksFirst],
  mix: {
    every: '10m',
    faults: [{ fault: { kind: 'node', fault: { node: '*', is: 'memory-pressure' } } }],
  },
  for: '2m',
  stops: '15s',
  story: async ({ client, sleep }) => {
    for (const name of ['app-1', 'app-2', 'app-3', 'app-4']) {
      const metadata = { name, labels: { app: '' } }
      await client.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
      await sleep('20s')
    }
  },
  check: async ({ client }) => {
    const secrets = await client.list({ kind: 'Secret' })
    if (secrets.length !== 4) throw new Error(`${secrets.length} Secrets for 4 ConfigMaps`)
  },
} satisfies SimulationOptions
