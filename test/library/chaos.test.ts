import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCluster } from '../../library/start-cluster.ts'
import type { ChaosReport, Cluster } from '../../library/types.ts'
import { eventually } from '../support/eventually.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodes: 2 })
  await cluster.clock.pause()
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
})

/** Name -> resourceVersion. */
const stateOf = (items: readonly V1ConfigMap[]): Record<string, string> =>
  Object.fromEntries(
    items.map(({ metadata }) => [metadata?.name ?? '', metadata?.resourceVersion ?? '']),
  )

/** An informer as its documentation says: an error ends it, and its user starts it again. */
async function startInformer(config: KubeConfig, namespace: string) {
  const api = config.makeApiClient(CoreV1Api)
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const informer = makeInformer<V1ConfigMap>(config, path, () =>
    api.listNamespacedConfigMap({ namespace }),
  )
  let isStopped = false
  let errors = 0
  const start = async (): Promise<void> => {
    if (!isStopped) await informer.start().catch(() => undefined)
  }
  informer.on('error', () => {
    errors += 1
    setTimeout(() => void start(), 5)
  })
  await informer.start()
  return {
    state: () => stateOf(informer.list()),
    fresh: async () => stateOf((await api.listNamespacedConfigMap({ namespace })).items),
    errors: () => errors,
    [Symbol.asyncDispose]: async () => {
      isStopped = true
      await informer.stop()
    },
  }
}

/** Creates, changes and deletes, each once; what a fault refuses is left as it is. */
async function change(api: CoreV1Api, { namespace, round }: { namespace: string; round: number }) {
  const name = `object-${round % 7}`
  const body = { metadata: { name }, data: { round: String(round) } }
  const writes = [
    () => api.createNamespacedConfigMap({ namespace, body }),
    () => api.replaceNamespacedConfigMap({ namespace, name, body }),
    () => api.deleteNamespacedConfigMap({ namespace, name }),
  ]
  // An object is created, changed and deleted in turn, so that refused writes lead to all states.
  await writes[Math.floor(round / 7) % 3]?.().catch(() => undefined)
}

const sum = (report: ChaosReport, what: 'begun' | 'fired'): number =>
  report.faults.reduce((total, one) => total + one[what], 0)

describe('chaos of an embedded cluster', () => {
  it('leaves an informer of @kubernetes/client-node right through an hour of the cluster', async () => {
    const config = new KubeConfig()
    config.loadFromString(cluster.kubeconfig())
    const api = config.makeApiClient(CoreV1Api)
    const namespace = 'default'
    await using informer = await startInformer(config, namespace)
    const reports: ChaosReport[] = []
    let round = 0
    for (let part = 0; part < 6; part += 1) {
      const writes: Promise<unknown>[] = []
      reports.push(
        await cluster.faults.chaos({ seed: 100 + part, for: '10m' }, async () => {
          for (let step = 0; step < 60; step += 1) {
            writes.push(change(api, { namespace, round }))
            round += 1
            await cluster.clock.advance('10s')
          }
        }),
      )
      await eventually(async () => {
        await cluster.clock.advance('1s')
        expect(informer.state()).toEqual(await informer.fresh())
      })
    }
    expect(reports.map(({ tookMs, isOver }) => ({ tookMs, isOver }))).toEqual(
      reports.map(() => ({ tookMs: 600_000, isOver: true })),
    )
    // It was no hour of rest: faults were taken as often as the mean says, and the informer has met some.
    for (const report of reports) expect(sum(report, 'begun')).toBeGreaterThan(20)
    expect(reports.reduce((total, report) => total + sum(report, 'fired'), 0)).toBeGreaterThan(20)
    expect(informer.errors()).toBeGreaterThan(0)
  }, 300_000)

  it('that fails midway is stopped, and its faults are healed', async () => {
    const chaos = cluster.faults.chaos({ seed: 1, for: '1h' }, async () => {
      await cluster.clock.advance('5m')
      await expect(cluster.faults.chaos({ for: '1m' })).rejects.toThrow(
        'a chaos is under way: seed 1',
      )
      throw new Error('midway')
    })
    await expect(chaos).rejects.toThrow('midway')
    const left = (await cluster.faults.list()).filter(({ ended }) => ended === undefined)
    expect(left).toEqual([])
  })

  it('of a mix counts each of its faults, and refuses a wrong one with its place', async () => {
    const fault = { kind: 'node', fault: { node: '*', is: 'rebooted' } } as const
    const mix = { every: '10s', faults: [{ fault }] }
    const report = await cluster.faults.chaos({ seed: 5, for: '1m', mix }, () =>
      cluster.clock.advance('1m'),
    )
    const [reboots] = report.faults
    expect(reboots).toMatchObject({ what: '*: rebooted', parts: 2 })
    expect(reboots?.begun).toBeGreaterThan(0)
    expect(reboots?.fired).toBe(reboots?.begun)
    const wrong = { every: '10s', faults: [{ fault: { ...fault, forMs: 5 } }] }
    await expect(cluster.faults.chaos({ for: '1m', mix: wrong })).rejects.toThrow(
      'faults.chaos: mix.faults[0].fault.forMs',
    )
  })
})
