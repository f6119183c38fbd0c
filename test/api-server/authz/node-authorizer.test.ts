import { beforeEach, describe, expect, test } from 'vitest'
import type { Decision } from '../../../components/api-server/authz/authorizer.ts'
import { authorizationOf } from '../../support/authorization.ts'
import { NodeGraph } from '../../../components/api-server/authz/node-graph.ts'
import { nodeAuthorizer } from '../../../components/api-server/authz/node-authorizer.ts'
import type {
  AuthorizationAttributes,
  UserInfo,
} from '../../../components/api-server/request/request.ts'
import { nodeRules } from '../../../components/api/bootstrap-policy/policy-objects.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { attributes, nodeUser, user } from './attributes.ts'

describe.each([dialects.kubernetes, dialects.svc])('the Node authorizer ($name)', (dialect) => {
  const resources = resourcesOf(dialect)
  let reader: FakeReader

  beforeEach(() => {
    reader = new FakeReader()
  })

  function putPod(name: string, nodeName: string, spec = {}, more = {}): void {
    reader.put(resources.pods, {
      metadata: { namespace: 'a', name, ...more },
      spec: { ...(nodeName && { nodeName }), containers: [], ...spec },
    })
  }

  type Asked = Partial<AuthorizationAttributes> & { user?: UserInfo }
  function authorizerWith(withSelectors: boolean): (asked: Asked) => Decision {
    const graph = new NodeGraph(reader, dialect)
    const subject = nodeAuthorizer({
      graph,
      reader,
      dialect,
      rules: nodeRules(dialect),
      withSelectors,
    })
    return (asked) => subject.authorize(attributes({ user: nodeUser('n1'), ...asked })) as Decision
  }
  let ask: (asked: Asked) => Decision
  const isAllowed = (asked: Asked): boolean => ask(asked).decision === 'allow'
  beforeEach(() => {
    ask = authorizerWith(true)
  })

  test('[NODEAUTHZ-001] a node agent is system:node:<name> in system:nodes', () => {
    putPod('p', 'n1')
    expect(isAllowed({ resource: 'pods', namespace: 'a', name: 'p' })).toBe(true)
    expect(isAllowed({ resource: 'services', verb: 'watch' })).toBe(true)
  })

  test('[NODEAUTHZ-012] [NODEAUTHZ-013] without the group or the name it has no rights', async () => {
    const options = { reader, dialect }
    const { authorizer } = authorizationOf(['Node'], options)
    for (const stranger of [
      user('system:node:n1', 'system:authenticated'),
      user('foo', 'system:nodes'),
      user('system:node', 'system:nodes'),
      user('system:node:', 'system:nodes'),
    ]) {
      const decision = await authorizer.authorize(
        attributes({ user: stranger, resource: 'services', verb: 'list' }),
      )
      expect([stranger.name, decision.decision]).toEqual([stranger.name, 'no-opinion'])
    }
  })

  test('[NODEAUTHZ-002] the name in the user is the node', () => {
    putPod('p', 'n1', { imagePullSecrets: [{ name: 's' }] })
    const secret = { resource: 'secrets', namespace: 'a', name: 's' }
    expect(isAllowed({ ...secret, user: nodeUser('n1') })).toBe(true)
    expect(isAllowed({ ...secret, user: nodeUser('n2') })).toBe(false)
  })

  test('[NODEAUTHZ-003] services, endpoints, nodes and pods may be read (selectors off)', () => {
    ask = authorizerWith(false)
    for (const resource of ['services', 'nodes', 'pods']) {
      for (const verb of ['get', 'list', 'watch']) expect(isAllowed({ resource, verb })).toBe(true)
    }
    expect(isAllowed({ resource: 'endpoints', verb: 'get', namespace: 'a', name: 'e' })).toBe(true)
    expect(isAllowed({ group: 'apps', resource: 'deployments', verb: 'list' })).toBe(false)
  })

  test('[NODEAUTHZ-004] secrets, configmaps, claims and volumes only when a pod on the node needs them', () => {
    const uses = {
      containers: [
        {
          name: 'c',
          env: [
            { name: 'x', valueFrom: { secretKeyRef: { name: 'env-secret', key: 'k' } } },
            { name: 'y', valueFrom: { configMapKeyRef: { name: 'env-map', key: 'k' } } },
          ],
          envFrom: [{ secretRef: { name: 'from-secret' } }, { configMapRef: { name: 'from-map' } }],
        },
      ],
      initContainers: [
        {
          name: 'i',
          env: [{ name: 'x', valueFrom: { configMapKeyRef: { name: 'init-map', key: 'k' } } }],
          envFrom: [{ secretRef: { name: 'init-secret' } }],
        },
      ],
      ephemeralContainers: [
        {
          name: 'd',
          env: [{ name: 'x', valueFrom: { secretKeyRef: { name: 'debug-secret', key: 'k' } } }],
          envFrom: [{ configMapRef: { name: 'debug-map' } }],
        },
      ],
      imagePullSecrets: [{ name: 'pull-secret' }],
      volumes: [
        { name: 'a', secret: { secretName: 'volume-secret' } },
        { name: 'b', configMap: { name: 'volume-map' } },
        {
          name: 'c',
          projected: {
            sources: [
              { secret: { name: 'projected-secret' } },
              { configMap: { name: 'projected-map' } },
            ],
          },
        },
        { name: 'd', persistentVolumeClaim: { claimName: 'claim' } },
        { name: 'e', ephemeral: { volumeClaimTemplate: {} } },
      ],
    }
    putPod('p', 'n1', uses)
    reader.put(resources.persistentVolumes, {
      metadata: { name: 'pv' },
      spec: {
        claimRef: { namespace: 'a', name: 'claim' },
        csi: {
          nodeStageSecretRef: { namespace: 'z', name: 'stage-secret' },
          controllerPublishSecretRef: { namespace: 'z', name: 'controller-secret' },
        },
      },
    })
    const related: Asked[] = [
      ...['env', 'from', 'init', 'debug', 'pull', 'volume', 'projected'].map((use) => ({
        resource: 'secrets',
        namespace: 'a',
        name: `${use}-secret`,
      })),
      ...['env', 'from', 'init', 'debug', 'volume', 'projected'].map((use) => ({
        resource: 'configmaps',
        namespace: 'a',
        name: `${use}-map`,
      })),
      { resource: 'persistentvolumeclaims', namespace: 'a', name: 'claim' },
      { resource: 'persistentvolumeclaims', namespace: 'a', name: 'p-e' },
      { resource: 'persistentvolumes', name: 'pv' },
      { resource: 'secrets', namespace: 'z', name: 'stage-secret' },
    ]
    for (const asked of related) {
      expect([asked.name, ask(asked)]).toEqual([asked.name, { decision: 'allow', reason: '' }])
      expect(ask({ ...asked, user: nodeUser('n2') })).toEqual({
        decision: 'no-opinion',
        reason: "no relationship found between node 'n2' and this object",
      })
    }
    for (const asked of [
      { resource: 'secrets', namespace: 'a', name: 'other' },
      { resource: 'secrets', namespace: 'b', name: 'env-secret' },
      { resource: 'secrets', namespace: 'z', name: 'controller-secret' },
      { resource: 'secrets', namespace: 'a', name: 'env-map' },
      { resource: 'persistentvolumes', name: 'other' },
    ]) {
      expect([asked.name, isAllowed(asked)]).toEqual([asked.name, false])
    }
    reader.remove(resources.pods, 'a', 'p')
    for (const asked of related) expect([asked.name, isAllowed(asked)]).toEqual([asked.name, false])
  })

  test('two pods that share a secret keep it readable until the second is gone', () => {
    const spec = { imagePullSecrets: [{ name: 's' }] }
    putPod('p', 'n1', spec)
    putPod('q', 'n1', spec)
    const secret = { resource: 'secrets', namespace: 'a', name: 's' }
    expect(isAllowed(secret)).toBe(true)
    reader.remove(resources.pods, 'a', 'p')
    expect(isAllowed(secret)).toBe(true)
    putPod('q', 'n2', spec)
    expect(isAllowed(secret)).toBe(false)
    expect(isAllowed({ ...secret, user: nodeUser('n2') })).toBe(true)
  })

  test('a volume opens its secret and itself as long as it is bound to a claim of a pod on the node', () => {
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }]
    putPod('p', 'n1', { volumes })
    const putVolume = (spec: object) =>
      reader.put(resources.persistentVolumes, { metadata: { name: 'pv' }, spec })
    const csi = (name: string) => ({ nodePublishSecretRef: { namespace: 'z', name } })
    const claimRef = { namespace: 'a', name: 'claim' }
    const secret = (name: string) => isAllowed({ resource: 'secrets', namespace: 'z', name })
    const volume = () => isAllowed({ resource: 'persistentvolumes', name: 'pv' })
    expect([volume(), secret('s')]).toEqual([false, false])
    putVolume({ claimRef, csi: csi('s') })
    expect([volume(), secret('s')]).toEqual([true, true])
    putVolume({ claimRef, csi: csi('t') })
    expect([volume(), secret('s'), secret('t')]).toEqual([true, false, true])
    putVolume({ claimRef: { namespace: 'b', name: 'claim' }, csi: csi('t') })
    expect([volume(), secret('t')]).toEqual([false, false])
    putVolume({ csi: csi('t') })
    expect([volume(), secret('t')]).toEqual([false, false])
    putVolume({ claimRef, csi: csi('t') })
    expect([volume(), secret('t')]).toEqual([true, true])
    reader.remove(resources.persistentVolumes, '', 'pv')
    expect([volume(), secret('t')]).toEqual([false, false])
    reader.put(resources.persistentVolumes, { metadata: { name: 'pv' } })
    expect([volume(), secret('t')]).toEqual([false, false])
  })

  test('two volumes that need one secret keep it readable until the second is gone', () => {
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }]
    putPod('p', 'n1', { volumes })
    for (const name of ['one', 'two']) {
      reader.put(resources.persistentVolumes, {
        metadata: { name },
        spec: {
          claimRef: { namespace: 'a', name: 'claim' },
          csi: { nodePublishSecretRef: { namespace: 'z', name: 's' } },
        },
      })
    }
    const secret = { resource: 'secrets', namespace: 'z', name: 's' }
    expect(isAllowed(secret)).toBe(true)
    reader.remove(resources.persistentVolumes, '', 'one')
    expect(isAllowed(secret)).toBe(true)
    expect(isAllowed({ ...secret, resource: 'configmaps' })).toBe(false)
    reader.remove(resources.persistentVolumes, '', 'two')
    expect(isAllowed(secret)).toBe(false)
  })

  test('the ways from nodes to an object go over every pod that needs it', () => {
    const graph = new NodeGraph(reader, dialect)
    const volumes = [
      { name: 'v', persistentVolumeClaim: { claimName: 'claim' } },
      { name: 's', secret: { secretName: 's' } },
    ]
    putPod('p', 'n1', { volumes })
    putPod('q', 'n2', { volumes: volumes.slice(1) })
    reader.put(resources.persistentVolumes, {
      metadata: { name: 'pv' },
      spec: {
        claimRef: { namespace: 'a', name: 'claim' },
        csi: { nodePublishSecretRef: { namespace: 'a', name: 's' } },
      },
    })
    reader.put(resources.persistentVolumes, { metadata: { name: 'free' } })
    const bound = ['pod a/p', 'persistentvolumeclaim a/claim', 'persistentvolume pv']
    expect(graph.waysTo('pod', 'a/p')).toEqual([{ node: 'n1', path: ['pod a/p'] }])
    expect(graph.waysTo('persistentvolume', 'pv')).toEqual([{ node: 'n1', path: bound }])
    expect(graph.waysTo('secret', 'a/s')).toEqual([
      { node: 'n1', path: ['pod a/p', 'secret a/s'] },
      { node: 'n2', path: ['pod a/q', 'secret a/s'] },
      { node: 'n1', path: [...bound, 'secret a/s'] },
    ])
    expect(graph.waysTo('configmap', 'a/s')).toEqual([])
    expect(graph.waysTo('persistentvolume', 'free')).toEqual([])
    expect(graph.waysTo('persistentvolume', 'none')).toEqual([])
    expect(graph.waysTo('secret', 'a/none')).toEqual([])
    graph.stop()
  })

  test('many changes between two questions are all seen', () => {
    expect(isAllowed({ resource: 'pods', namespace: 'a', name: 'p0' })).toBe(false)
    for (let index = 0; index < 700; index++) putPod(`p${index}`, index % 2 ? 'n1' : 'n2')
    expect(isAllowed({ resource: 'pods', namespace: 'a', name: 'p1' })).toBe(true)
    expect(isAllowed({ resource: 'pods', namespace: 'a', name: 'p698' })).toBe(false)
    expect(isAllowed({ resource: 'pods', namespace: 'a', name: 'p699' })).toBe(true)
  })

  test('a mirror pod opens nothing to the node that made it', () => {
    const annotations = { [`${dialect.labelDomain}/config.mirror`]: 'x' }
    putPod('p', 'n1', { imagePullSecrets: [{ name: 's' }] }, { annotations })
    expect(isAllowed({ resource: 'secrets', namespace: 'a', name: 's' })).toBe(false)
    expect(isAllowed({ resource: 'pods', namespace: 'a', name: 'p' })).toBe(true)
  })

  test('secrets and configmaps are never listed at large or written', () => {
    putPod('p', 'n1', { imagePullSecrets: [{ name: 's' }] })
    const secret = { resource: 'secrets', namespace: 'a', name: 's' }
    for (const verb of ['list', 'watch']) {
      expect(isAllowed({ ...secret, verb })).toBe(true)
      expect(ask({ ...secret, verb, name: '' }).reason).toBe('No Object name found')
      expect(ask({ ...secret, verb, namespace: '' }).reason).toBe(
        'can only read namespaced object of this type',
      )
    }
    for (const verb of ['update', 'delete', 'create', 'patch']) {
      expect(ask({ ...secret, verb }).reason).toBe('can only read resources of this type')
    }
  })

  test('[NODEAUTHZ-005] with selectors it reads its own Node only', () => {
    for (const verb of ['get', 'list', 'watch']) {
      expect(isAllowed({ resource: 'nodes', verb, name: 'n1' })).toBe(true)
      expect(ask({ resource: 'nodes', verb, name: 'n2' }).reason).toBe(
        "node 'n1' cannot read 'n2', only its own Node object",
      )
    }
    expect(ask({ resource: 'nodes', verb: 'list' }).reason).toBe(
      "node 'n1' cannot read all nodes, only its own Node object",
    )
    ask = authorizerWith(false)
    expect(isAllowed({ resource: 'nodes', name: 'n2' })).toBe(true)
  })

  test('[NODEAUTHZ-006] with selectors pods are listed with spec.nodeName=<self> only', () => {
    const select = (key: string, operator: string, value: string) => ({
      fieldSelector: [{ key, operator, values: [value] }],
    })
    const pods = { resource: 'pods', verb: 'list' }
    expect(ask(pods).reason).toBe('can only list/watch pods with spec.nodeName field selector')
    expect(isAllowed({ ...pods, ...select('spec.nodeName', '=', 'n1') })).toBe(true)
    expect(isAllowed({ ...pods, verb: 'watch', ...select('spec.nodeName', '=', 'n1') })).toBe(true)
    expect(isAllowed({ ...pods, ...select('spec.nodeName', '=', 'n2') })).toBe(false)
    expect(isAllowed({ ...pods, ...select('spec.nodeName', '!=', 'n1') })).toBe(false)
    expect(isAllowed({ ...pods, ...select('status.phase', '=', 'n1') })).toBe(false)
    putPod('p', 'n1')
    putPod('q', 'n2')
    expect(isAllowed({ resource: 'pods', namespace: 'a', name: 'p' })).toBe(true)
    expect(isAllowed({ resource: 'pods', namespace: 'a', name: 'q' })).toBe(false)
    expect(isAllowed({ ...pods, verb: 'watch', namespace: 'a', name: 'p' })).toBe(true)
  })

  test('[NODEAUTHZ-007] nodes, pods, their status and events may be written', () => {
    const writes: Asked[] = [
      { resource: 'nodes', verb: 'create' },
      { resource: 'nodes', verb: 'patch', name: 'n1' },
      { resource: 'nodes', subresource: 'status', verb: 'patch', name: 'n1' },
      { resource: 'pods', verb: 'create', namespace: 'a' },
      { resource: 'pods', verb: 'delete', namespace: 'a', name: 'p' },
      { resource: 'pods', subresource: 'status', verb: 'patch', namespace: 'a', name: 'p' },
      { resource: 'pods', subresource: 'eviction', verb: 'create', namespace: 'a', name: 'p' },
      { resource: 'events', verb: 'create', namespace: 'a' },
      { resource: 'events', verb: 'patch', namespace: 'a', name: 'e' },
    ]
    for (const withSelectors of [true, false]) {
      ask = authorizerWith(withSelectors)
      for (const asked of writes) expect([asked, isAllowed(asked)]).toEqual([asked, true])
      expect(isAllowed({ resource: 'nodes', verb: 'delete', name: 'n1' })).toBe(false)
      expect(isAllowed({ resource: 'pods', verb: 'update', namespace: 'a', name: 'p' })).toBe(false)
      expect(isAllowed({ resource: 'pods', subresource: 'exec', verb: 'create', name: 'p' })).toBe(
        false,
      )
    }
  })

  test('[NODEAUTHZ-010] signing requests may be made and read', () => {
    const group = `certificates.${dialect.apiDomain}`
    for (const verb of ['create', 'get', 'list', 'watch']) {
      expect(isAllowed({ group, resource: 'certificatesigningrequests', verb })).toBe(true)
    }
    const approval = { group, resource: 'certificatesigningrequests', subresource: 'approval' }
    expect(isAllowed({ ...approval, verb: 'update' })).toBe(false)
  })

  test('[NODEAUTHZ-011] reviews of tokens and access may be made', () => {
    const group = (stem: string) => `${stem}.${dialect.apiDomain}`
    const verb = 'create'
    expect(isAllowed({ group: group('authentication'), resource: 'tokenreviews', verb })).toBe(true)
    expect(
      isAllowed({ group: group('authorization'), resource: 'subjectaccessreviews', verb }),
    ).toBe(true)
  })

  test('tokens only for accounts of its pods', () => {
    putPod('p', 'n1', { serviceAccountName: 'b' })
    const token = {
      resource: 'serviceaccounts',
      subresource: 'token',
      verb: 'create',
      namespace: 'a',
      name: 'b',
    }
    expect(isAllowed(token)).toBe(true)
    expect(isAllowed({ ...token, name: 'c' })).toBe(false)
    expect(isAllowed({ ...token, user: nodeUser('n2') })).toBe(false)
    expect(isAllowed({ ...token, subresource: '' })).toBe(false)
    expect(isAllowed({ ...token, verb: 'get' })).toBe(false)
  })

  test('its own lease in the lease namespace, its own CSINode, its own slices and attachments', () => {
    const lease = {
      group: `coordination.${dialect.apiDomain}`,
      resource: 'leases',
      namespace: dialect.nodeLeaseNamespace,
      name: 'n1',
      verb: 'update',
    }
    expect(isAllowed(lease)).toBe(true)
    expect(isAllowed({ ...lease, verb: 'create', name: '' })).toBe(true)
    expect(isAllowed({ ...lease, name: 'n2' })).toBe(false)
    expect(isAllowed({ ...lease, namespace: 'a' })).toBe(false)
    expect(isAllowed({ ...lease, verb: 'list' })).toBe(false)
    const storage = { group: `storage.${dialect.apiDomain}` }
    expect(isAllowed({ ...storage, resource: 'csinodes', name: 'n1', verb: 'patch' })).toBe(true)
    expect(isAllowed({ ...storage, resource: 'csinodes', name: 'n2', verb: 'patch' })).toBe(false)
    const owned = (nodeName: string): KubeObject => ({
      metadata: { name: 'x' },
      spec: { nodeName },
    })
    reader.put(resources.volumeAttachments, owned('n1'))
    reader.put(resources.resourceSlices, owned('n1'))
    const attachment = { ...storage, resource: 'volumeattachments', name: 'x' }
    expect(isAllowed(attachment)).toBe(true)
    expect(isAllowed({ ...attachment, user: nodeUser('n2') })).toBe(false)
    const slice = { group: `resource.${dialect.apiDomain}`, resource: 'resourceslices', name: 'x' }
    expect(isAllowed({ ...slice, verb: 'delete' })).toBe(true)
    expect(isAllowed({ ...slice, verb: 'delete', user: nodeUser('n2') })).toBe(false)
    expect(isAllowed({ ...slice, verb: 'list', name: '' })).toBe(false)
  })

  test('claims of devices only for its pods; of nothing a part, but the status of its claims', () => {
    putPod('p', 'n1', {
      resourceClaims: [{ name: 'r', resourceClaimName: 'device' }],
      imagePullSecrets: [{ name: 's' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }],
    })
    const device = {
      group: `resource.${dialect.apiDomain}`,
      resource: 'resourceclaims',
      namespace: 'a',
      name: 'device',
    }
    expect(isAllowed(device)).toBe(true)
    expect(isAllowed({ ...device, name: 'other' })).toBe(false)
    expect(isAllowed({ ...device, user: nodeUser('n2') })).toBe(false)
    expect(ask({ ...device, subresource: 'status' }).reason).toBe('cannot get subresource')
    const secret = { resource: 'secrets', namespace: 'a', name: 's' }
    expect(isAllowed(secret)).toBe(true)
    expect(ask({ ...secret, subresource: 'x' }).reason).toBe('cannot read subresource')
    const claim = { resource: 'persistentvolumeclaims', namespace: 'a', name: 'claim' }
    for (const verb of ['update', 'patch']) {
      expect(isAllowed({ ...claim, subresource: 'status', verb })).toBe(true)
      expect(isAllowed({ ...claim, verb })).toBe(false)
      expect(isAllowed({ ...claim, subresource: 'status', verb, name: 'x' })).toBe(false)
    }
    expect(ask({ ...claim, subresource: 'status', verb: 'get' }).reason).toBe(
      'can only get/update/patch this type',
    )
  })

  test('a pod that is gone, or has left its node, leads nowhere', () => {
    const graph = new NodeGraph(reader, dialect)
    const spec = { imagePullSecrets: [{ name: 's' }] }
    putPod('p', 'n1', spec)
    expect(graph.waysTo('secret', 'a/s')).toHaveLength(1)
    reader.remove(resources.pods, 'a', 'p')
    expect(graph.waysTo('secret', 'a/s')).toEqual([])
    putPod('p', 'n2', spec)
    putPod('q', 'n2', spec)
    expect(graph.isRelated('n2', 'secret', 'a/s')).toBe(true)
    reader.remove(resources.pods, 'a', 'p')
    expect(graph.isRelated('n2', 'secret', 'a/s')).toBe(true)
    // It is told of a pod that it knows to be gone.
    putPod('p', '', spec)
    expect(graph.isRelated('n2', 'secret', 'a/s')).toBe(true)
    expect(graph.waysTo('secret', 'a/s').map(({ path }) => path[0])).toEqual(['pod a/q'])
  })

  test('a graph that is stopped follows nothing any more', () => {
    const graph = new NodeGraph(reader, dialect)
    expect(graph.isVolumeRelated('n1', 'pv')).toBe(false)
    graph.stop()
    putPod('p', 'n1', { imagePullSecrets: [{ name: 's' }] })
    expect(graph.isRelated('n1', 'secret', 'a/s')).toBe(false)
  })

  test('a volume may be the first thing that is asked about', () => {
    putPod('p', 'n1', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] })
    reader.put(resources.persistentVolumes, {
      metadata: { name: 'pv' },
      spec: { claimRef: { namespace: 'a', name: 'c' } },
    })
    expect(new NodeGraph(reader, dialect).isVolumeRelated('n1', 'pv')).toBe(true)
    expect(new NodeGraph(reader, dialect).isVolumeRelated('n2', 'pv')).toBe(false)
  })

  test('its rules cannot be listed', () => {
    const { authorizer } = authorizationOf(['Node'], { reader, dialect })
    expect(authorizer.rulesFor?.(nodeUser('n1'), 'a').incomplete).toBe(true)
    expect(authorizer.rulesFor?.(user('jane'), 'a').incomplete).toBe(false)
  })
})
