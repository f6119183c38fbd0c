/** Recording: what a client like kubectl did becomes a scenario that runs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RequestRecords } from '../../components/api/request-record.ts'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createClient, type Client } from '../../components/client/client.ts'
import { createFindResource } from '../../scenarios/engine/find-resource.ts'
import { createRecording } from '../../scenarios/engine/record-scenario.ts'
import { runScenario } from '../../scenarios/engine/run-scenario.ts'
import { processCluster } from '../../scenarios/engine/process-cluster.ts'
import { parseScenario } from '../../scenarios/engine/scenario.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { sharedServer } from '../support/shared-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { administratorOf } from './administrator.ts'
import { playedProcesses } from './play.ts'

/** The controller manager makes it, and there is none. */
const account =
  '  - create: { apiVersion: v1, kind: ServiceAccount, metadata: { name: default, namespace: again } }\n'

describe('recording', () => {
  const server = sharedServer()
  const resources = resourcesOf(dialects.kubernetes)
  let admin: Client
  let jane: Client
  beforeAll(() => {
    admin = administratorOf(server())
    const shown = server().credential({ user: 'jane', groups: ['system:masters'] })
    jane = createClient({
      server: `https://127.0.0.1:${server().port}`,
      ca: server().pki.authority.certificatePem,
      credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
      dialect: dialects.kubernetes,
      userAgent: 'kubectl/v1.35.0 (linux/amd64) kubernetes/6645204',
    })
  })
  afterAll(() => {
    admin.close()
    jane.close()
  })

  const recordJane = async (): Promise<string> => {
    const recording = createRecording({
      client: admin,
      findResource: createFindResource(resources, admin),
      nodes: 0,
    })
    const path = '/explain/requests?writes=true&user=jane&limit=1000'
    const { items } = (await admin.rest.json({ method: 'GET', path })) as RequestRecords
    for (const record of items) recording.add(record)
    return await recording.finish()
  }

  it('writes steps and what others made of the objects, and the result runs again', async () => {
    const configMaps = jane.resource(resources.configMaps)
    const namespaces = jane.resource(resources.namespaces)
    await namespaces.create({ metadata: { name: 'shop' } })
    const at = { namespace: 'shop', name: 'web' }
    await configMaps.create({
      metadata: { ...at, labels: { app: 'web' } },
      data: { a: '1', b: '2' },
    })
    await configMaps.patch(at, { data: { a: '3', b: null } }, { type: 'merge' })
    const applied = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'shop', name: 'applied' },
      data: { x: 'y' },
    }
    await configMaps.create({
      ...applied,
      metadata: {
        ...applied.metadata,
        annotations: {
          'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(applied),
        },
      },
    })
    // As the controller manager does.
    await admin
      .resource(resources.serviceAccounts)
      .create({ metadata: { name: 'default', namespace: 'shop' } })
    const pods = jane.resource(resources.pods)
    await pods.create({
      metadata: { name: 'p', namespace: 'shop' },
      spec: { containers: [{ name: 'main', image: 'i' }] },
    })
    await admin
      .resource(resources.pods)
      .patch(
        { namespace: 'shop', name: 'p' },
        { status: { phase: 'Succeeded' } },
        { type: 'merge', subresource: 'status' },
      )
    await configMaps.delete(at)
    await expect(configMaps.delete(at)).rejects.toThrow('not found')
    const text = await recordJane()
    expect(text).toMatch(/^description: 'Recorded: 6 writes\.'\ncluster:\n {2}nodes: 0\nsteps:\n/)
    expect(text).toContain(
      "  - patch:\n      kind: ConfigMap\n      name: web\n      namespace: shop\n      patch:\n        data:\n          a: '3'\n          b: null\n",
    )
    expect(text).toContain('  - apply:\n      apiVersion: v1\n      kind: ConfigMap\n')
    expect(text).toContain('        - status.phase == Succeeded\n')
    expect(text).toContain(
      '  # Not recorded: delete of /api/v1/namespaces/shop/configmaps/web: it was answered 404\n',
    )
    expect(text).not.toMatch(/uid|resourceVersion|managedFields|last-applied/)

    // On a cluster without these objects; the pod's phase is the kubelet's there, and the test's here.
    const again = text
      .replaceAll('shop', 'again')
      .replace(/ {2}- expect:\n {6}kind: Pod\n(?: {6}.*\n)*/g, '')
      .replace(/( {2}- create:\n {6}apiVersion: v1\n {6}kind: Pod\n)/, `${account}$1`)
    const folder = temporaryFolder('recorded')
    const result = await runScenario(parseScenario(again, 'again.yaml'), {
      cluster: processCluster(playedProcesses(folder, 'recorded', admin)),
      clock: systemClock,
      signal: new AbortController().signal,
    })
    expect(result.steps.flatMap(({ failure }) => failure)).toEqual([])
    expect(result.outcome).toBe('passed')
  })

  it('without a write it says so, and is no scenario', async () => {
    const recording = createRecording({
      client: admin,
      findResource: createFindResource(resources, admin),
      nodes: 2,
    })
    expect(await recording.finish()).toBe(
      "description: 'Recorded: 0 writes.'\ncluster:\n  nodes: 2\nsteps: []\n# Nothing was written.\n",
    )
  })
})
