/** chaosHour: an hour of chaos in an embedded cluster whose clock is paused, while its ConfigMaps change, for what a client makes of it. */
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { expect } from 'vitest'
import type { ChaosReport, Cluster } from '../../library/types.ts'
import { eventually } from './eventually.ts'

const namespace = 'default'

/** Name -> resourceVersion. */
export const stateOf = (items: readonly V1ConfigMap[]): Record<string, string> =>
  Object.fromEntries(
    items.map(({ metadata }) => [metadata?.name ?? '', metadata?.resourceVersion ?? '']),
  )

/** Creates, changes and deletes, each once; what a fault refuses is left as it is. */
async function change(api: CoreV1Api, round: number): Promise<void> {
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

/** Six chaoses of ten minutes. After each, `client` must come to the state of the cluster's default namespace, and does so while time goes on. */
export async function chaosHour(
  cluster: Cluster,
  client: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>,
): Promise<void> {
  const config = new KubeConfig()
  config.loadFromString(cluster.kubeconfig())
  const api = config.makeApiClient(CoreV1Api)
  const reports: ChaosReport[] = []
  let round = 0
  for (let part = 0; part < 6; part += 1) {
    reports.push(
      await cluster.faults.chaos({ seed: 100 + part, for: '10m' }, async () => {
        for (let step = 0; step < 60; step += 1) {
          void change(api, round)
          round += 1
          await cluster.clock.advance('10s')
        }
      }),
    )
    await eventually(async () => {
      await cluster.clock.advance('1s')
      const { items } = await api.listNamespacedConfigMap({ namespace })
      expect(await client()).toEqual(stateOf(items))
    })
  }
  expect(reports.map(({ tookMs, isOver }) => ({ tookMs, isOver }))).toEqual(
    reports.map(() => ({ tookMs: 600_000, isOver: true })),
  )
  // It was no hour of rest: faults were taken as often as the mean says, and fired.
  for (const report of reports) expect(sum(report, 'begun')).toBeGreaterThan(20)
  expect(reports.reduce((total, report) => total + sum(report, 'fired'), 0)).toBeGreaterThan(20)
}
