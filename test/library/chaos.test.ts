import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCluster } from '../../library/start-cluster.ts'
import type { Cluster } from '../../library/types.ts'
import { chaosHour, stateOf } from '../support/chaos-hour.ts'
import { eventually } from '../support/eventually.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodes: 2 })
  await cluster.clock.pause()
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
})

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
    errors: () => errors,
    [Symbol.asyncDispose]: async () => {
      isStopped = true
      await informer.stop()
    },
  }
}

/** Ends the watch of the informer and cuts its next request: it notices, begins again, and is right. */
async function breakWatch(informer: Awaited<ReturnType<typeof startInformer>>): Promise<void> {
  const before = informer.errors()
  // Of the informer alone: controllers watch ConfigMaps, too.
  const match = { users: ['kubernetes-admin'], resources: ['configmaps'] }
  for (const [verbs, action] of [
    [['watch'], { watch: { events: 'end' } }],
    [['list', 'watch'], { cut: 'before' }],
  ] as const) {
    const fault = { match: { ...match, verbs }, action }
    await cluster.faults.add({ kind: 'requests', times: 1, fault })
  }
  let round = 0
  await eventually(async () => {
    round += 1
    const data = { round: String(round) }
    await cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'last' }, data })
    await cluster.clock.advance('1s')
    expect(informer.errors()).toBeGreaterThan(before)
  })
  await eventually(async () => {
    await cluster.clock.advance('1s')
    expect(informer.state()).toEqual(stateOf(await cluster.admin.list({ kind: 'ConfigMap' })))
  })
}

describe('chaos of an embedded cluster', () => {
  it('leaves an informer of @kubernetes/client-node right through an hour of the cluster', async () => {
    const config = new KubeConfig()
    config.loadFromString(cluster.kubeconfig())
    await using informer = await startInformer(config, 'default')
    await chaosHour(cluster, () => informer.state())
    // How much of that it met depends on how fast it was: the end of a watch, and no way back at first, it meets in any case.
    await breakWatch(informer)
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
