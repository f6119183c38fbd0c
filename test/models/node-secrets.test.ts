/** Nodes that try at random to come by Secrets, while an administrator makes, binds and deletes pods: each reads what its pods need. */
import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import type { Identity, Reply } from '../support/api-server.ts'
import { describeDialects } from '../support/shared-server.ts'
import { parametersOf, runsIn } from './replay.ts'

const nodes = ['n1', 'n2'] as const
const secrets = ['s0', 's1', 's2'] as const
const podName = fc.constantFrom('p', 'q')
const node = fc.constantFrom(...nodes)
const some = fc.subarray([...secrets])
const how = fc.constantFrom('volume', 'env', 'pull')

const step = fc.oneof(
  fc.record({
    by: fc.constant('admin'),
    act: fc.constant('make'),
    name: podName,
    secrets: some,
    node: fc.option(node, { nil: undefined }),
    how,
  }),
  fc.record({
    by: fc.constant('admin'),
    act: fc.constantFrom('bind', 'delete'),
    name: podName,
    node,
  }),
  fc.record({
    by: node,
    act: fc.constantFrom(
      'mirror',
      'pod',
      'bind',
      'status',
      'spec',
      'annotate',
      'put',
      'ephemeral',
      'delete',
      'evict',
      'volume',
      'claim',
      'token',
      'list',
    ),
    name: podName,
    secrets: some,
    how,
  }),
)
interface Step {
  readonly by: string
  readonly act: string
  readonly name: string
  readonly secrets?: readonly string[]
  readonly node?: string | undefined
  readonly how?: string
}

interface Granted {
  readonly secrets: readonly string[]
  node: string | undefined
}

/** A pod that needs the Secrets. */
function podNeeding({
  name,
  secrets: needed = [],
  how: way,
  node: nodeName,
}: Step): Record<string, unknown> {
  const env = needed.map((secret, at) => ({
    name: `E${at}`,
    valueFrom: { secretKeyRef: { name: secret, key: 'k' } },
  }))
  return {
    metadata: { name },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      automountServiceAccountToken: false,
      containers: [{ name: 'c', image: 'i', ...(way === 'env' ? { env } : {}) }],
      ...(way === 'pull' ? { imagePullSecrets: needed.map((secret) => ({ name: secret })) } : {}),
      ...(way === 'volume'
        ? {
            volumes: needed.map((secret) => ({
              name: `v-${secret}`,
              secret: { secretName: secret },
            })),
          }
        : {}),
    },
  }
}

describeDialects(
  'Secrets and nodes that want them',
  (server) => {
    const uids = new Map<string, string>()
    beforeAll(async () => {
      for (const name of nodes) {
        const made = (await server().ok('POST', '/api/v1/nodes', {
          body: { metadata: { name } },
        })) as {
          metadata: { uid: string }
        }
        uids.set(name, made.metadata.uid)
      }
    })
    const as = (name: string): Identity => ({
      user: `system:node:${name}`,
      groups: ['system:nodes'],
    })

    /** What a node may try; most of it is refused. */
    async function attempt(one: Step, ns: string): Promise<Reply> {
      const { by, name, act } = one
      const dialect = server().dialect
      const pods = `/api/v1/namespaces/${ns}/pods`
      const identity = { as: as(by) }
      const merge = { ...identity, headers: { 'content-type': 'application/merge-patch+json' } }
      const own = podNeeding({ ...one, name: `${name}-of-${by}`, node: by })
      const wanted = podNeeding({ ...one, node: by })
      const mirror = `${dialect.labelDomain}/config.mirror`
      switch (act) {
        case 'mirror':
          return await server().request('POST', pods, {
            ...identity,
            body: {
              ...own,
              metadata: {
                name: `${name}-of-${by}`,
                annotations: { [mirror]: 'x' },
                ownerReferences: [
                  { apiVersion: 'v1', kind: 'Node', name: by, uid: uids.get(by), controller: true },
                ],
              },
            },
          })
        case 'pod':
          return await server().request('POST', pods, { ...identity, body: own })
        case 'bind':
          return await server().request('POST', `${pods}/${name}/binding`, {
            ...identity,
            body: { metadata: { name }, target: { kind: 'Node', name: by } },
          })
        case 'status':
          return await server().request('PATCH', `${pods}/${name}/status`, {
            ...merge,
            body: { ...wanted, status: { phase: 'Running' } },
          })
        case 'spec':
          return await server().request('PATCH', `${pods}/${name}`, { ...merge, body: wanted })
        case 'annotate':
          return await server().request('PATCH', `${pods}/${name}`, {
            ...merge,
            body: { metadata: { annotations: { [mirror]: null, a: 'b' } } },
          })
        case 'put':
          return await server().request('PUT', `${pods}/${name}`, { ...identity, body: wanted })
        case 'ephemeral':
          return await server().request('PATCH', `${pods}/${name}/ephemeralcontainers`, {
            ...merge,
            body: {
              spec: {
                ephemeralContainers: [
                  {
                    name: 'e',
                    image: 'i',
                    envFrom: one.secrets?.map((secret) => ({ secretRef: { name: secret } })),
                  },
                ],
              },
            },
          })
        case 'delete':
          return await server().request('DELETE', `${pods}/${name}?gracePeriodSeconds=0`, identity)
        case 'evict':
          return await server().request('POST', `${pods}/${name}/eviction`, {
            ...identity,
            body: { metadata: { name }, deleteOptions: { gracePeriodSeconds: 0 } },
          })
        case 'volume':
          return await server().request('POST', '/api/v1/persistentvolumes', {
            ...identity,
            body: {
              metadata: { name: `${ns}-${name}` },
              spec: {
                capacity: { storage: '1Gi' },
                accessModes: ['ReadWriteOnce'],
                claimRef: { namespace: ns, name },
                csi: {
                  driver: 'd',
                  volumeHandle: 'h',
                  nodeStageSecretRef: { namespace: ns, name: one.secrets?.[0] ?? 's0' },
                },
              },
            },
          })
        case 'claim':
          return await server().request(
            'PATCH',
            `/api/v1/namespaces/${ns}/persistentvolumeclaims/${name}/status`,
            { ...merge, body: { spec: { volumeName: `${ns}-${name}` } } },
          )
        case 'token':
          return await server().request(
            'POST',
            `/api/v1/namespaces/${ns}/serviceaccounts/${name}/token`,
            { ...identity, body: { spec: { audiences: [] } } },
          )
        default:
          return await server().request('GET', `/api/v1/namespaces/${ns}/secrets`, identity)
      }
    }

    it('whatever they do and in whatever order, none reads what its pods do not need', async () => {
      let reads = 0
      let allowed = 0
      const accepted = new Map<string, number>()
      const property = fc.asyncProperty(
        fc.array(step, { minLength: 6, maxLength: 16 }),
        async (steps: readonly Step[]) => {
          const ns = await server().namespace()
          const pods = `/api/v1/namespaces/${ns}/pods`
          for (const name of secrets) {
            await server().ok('POST', `/api/v1/namespaces/${ns}/secrets`, {
              body: { metadata: { name }, stringData: { k: name } },
            })
          }
          /** What the administrator made, by uid. */
          const granted = new Map<string, Granted>()
          const uidOf = async (name: string): Promise<string> =>
            (
              (await server().request('GET', `${pods}/${name}`)).body as {
                metadata?: { uid?: string }
              }
            ).metadata?.uid ?? ''
          for (const one of steps) {
            if (one.by !== 'admin') {
              const { status } = await attempt(one, ns)
              if (status >= 500) throw new Error(`${JSON.stringify(one)}: ${status}`)
              if (status < 300) accepted.set(one.act, (accepted.get(one.act) ?? 0) + 1)
            } else if (one.act === 'make') {
              const { status, body } = await server().request('POST', pods, {
                body: podNeeding(one),
              })
              const { uid } = (body as { metadata: { uid: string } }).metadata
              if (status === 201) granted.set(uid, { secrets: one.secrets ?? [], node: one.node })
            } else if (one.act === 'bind') {
              const uid = await uidOf(one.name)
              const { status } = await server().request('POST', `${pods}/${one.name}/binding`, {
                body: { metadata: { name: one.name }, target: { kind: 'Node', name: one.node } },
              })
              const pod = granted.get(uid)
              if (status === 201 && pod !== undefined) pod.node = one.node
            } else {
              await server().request('DELETE', `${pods}/${one.name}?gracePeriodSeconds=0`)
            }
            const { items } = (await server().ok('GET', pods)) as {
              items: { metadata: { uid: string } }[]
            }
            const alive = items.flatMap(({ metadata }) => granted.get(metadata.uid) ?? [])
            const found: Record<string, number> = {}
            const expected: Record<string, number> = {}
            for (const name of nodes) {
              for (const secret of secrets) {
                const path = `/api/v1/namespaces/${ns}/secrets/${secret}`
                const { status } = await server().request('GET', path, { as: as(name) })
                const isNeeded = alive.some(
                  (pod) => pod.node === name && pod.secrets.includes(secret),
                )
                found[`${name} ${secret}`] = status
                expected[`${name} ${secret}`] = isNeeded ? 200 : 403
                reads += 1
                if (isNeeded) allowed += 1
              }
            }
            expect([found, one]).toEqual([expected, one])
          }
        },
      )
      const runs = runsIn(server().dialect, 50)
      await fc.assert(property, parametersOf(runs))
      if (process.env['MODEL_RUNS'] !== undefined) return
      expect(reads).toBeGreaterThan(30 * runs)
      expect(allowed).toBeGreaterThan(reads / 20)
      // What a node may do has been done, or nothing was tried.
      for (const act of ['mirror', 'status', 'delete']) {
        expect([act, accepted.get(act) ?? 0]).not.toEqual([act, 0])
      }
      for (const act of ['pod', 'bind', 'spec', 'put', 'ephemeral', 'volume', 'list']) {
        expect([act, accepted.get(act) ?? 0]).toEqual([act, 0])
      }
    }, 300_000)
  },
  { flags: ['--enable-admission-plugins=NodeRestriction'] },
)
