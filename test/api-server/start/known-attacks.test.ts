/** Attacks that were found in Kubernetes, by request; docs/security.md lists them. */
import { expect, it } from 'vitest'
import { user } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'

describeDialects(
  'attacks known from Kubernetes',
  (server) => {
    it('a node cannot make garbage collection delete it (CVE-2025-5187)', async () => {
      const name = 'n1'
      const as = user(`system:node:${name}`, 'system:nodes')
      const made = await server().ok('POST', '/api/v1/nodes', { as, body: { metadata: { name } } })
      const ownerReferences = [
        { apiVersion: 'v1', kind: 'Namespace', name: 'none', uid: 'no-such-uid' },
      ]
      const at = `/api/v1/nodes/${name}`
      const patch = { metadata: { ownerReferences } }
      const apply = { apiVersion: 'v1', kind: 'Node', metadata: { name, ownerReferences } }
      const whole = { ...made, metadata: { ...made.metadata, ownerReferences } }
      const tries = [
        ['PATCH', 'application/merge-patch+json', patch],
        ['PATCH', 'application/strategic-merge-patch+json', patch],
        ['PATCH', 'application/apply-patch+yaml', apply],
        ['PUT', 'application/json', whole],
      ] as const
      for (const path of [at, `${at}/status`])
        for (const [method, type, body] of tries) {
          const url = type.includes('apply') ? `${path}?fieldManager=me&force=true` : path
          const reply = await server().request(method, url, {
            as,
            headers: { 'content-type': type },
            body,
          })
          expect([url, type, reply.status, reply.body.message]).toEqual([
            url,
            type,
            403,
            `nodes "${name}" is forbidden: node "${name}" is not allowed to modify ownerReferences`,
          ])
        }
      expect((await server().ok('GET', at)).metadata).not.toHaveProperty('ownerReferences')
    })

    it('annotations that stand for fields of an autoscaler may hold anything (CVE-2024-0793)', async () => {
      const ns = await server().namespace()
      const path = (version: string): string =>
        `/apis/autoscaling/${version}/namespaces/${ns}/horizontalpodautoscalers`
      const spec = { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd' } }
      const values = ['{}', '{"ScaleUp":{"Policies":null}}', '{"ScaleUp":5}', '[null]', '[{}]', '5']
      const statuses: number[] = []
      for (const key of ['behavior', 'metrics', 'current-metrics', 'conditions'])
        for (const value of values) {
          const name = `h${statuses.length}`
          const annotations = { [`autoscaling.alpha.kubernetes.io/${key}`]: value }
          const body = { metadata: { name, annotations }, spec }
          const { status } = await server().request('POST', path('v1'), { body })
          statuses.push(status)
          if (status !== 201) continue
          for (const version of ['v1', 'v2']) await server().ok('GET', `${path(version)}/${name}`)
        }
      expect(statuses.filter((status) => ![201, 400, 422].includes(status))).toEqual([])
      expect((await server().request('GET', path('v2'))).status).toBe(200)
    })
  },
  { flags: ['--enable-admission-plugins=NodeRestriction'] },
)
