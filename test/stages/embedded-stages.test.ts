import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { startCluster } from '../../library/index.ts'
import type { Cluster } from '../../library/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

let cluster: Cluster | undefined
afterEach(async () => {
  await cluster?.stop()
  cluster = undefined
})

const fakeNode = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'fake-1', annotations: { 'kwok.x-k8s.io/node': 'fake' } },
}

describe('an embedded cluster with stages', () => {
  it('makes fake nodes Ready', async () => {
    cluster = await startCluster({ nodes: 0, stages: ['default'] })
    await cluster.apply(fakeNode)
    await cluster.clock.advance('5m')
    console.log(
      JSON.stringify(await cluster.admin.get({ kind: 'Node', name: 'fake-1' }), undefined, 1),
    )
    await cluster.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {
        replicas: 2,
        selector: { matchLabels: { a: 'b' } },
        template: {
          metadata: { labels: { a: 'b' } },
          spec: { containers: [{ name: 'c', image: 'i' }] },
        },
      },
    })
    await cluster.clock.advance('10s')
    console.log(
      JSON.stringify(await cluster.admin.list({ kind: 'Pod' }), undefined, 1).slice(0, 3000),
    )
    console.log((await cluster.logs('stage-runner')).join('\n'))
  })
})
