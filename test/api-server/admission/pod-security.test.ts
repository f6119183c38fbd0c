/** Pod security: every check of both levels with its words, and what modes, versions and namespace updates do; row VER-080. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { admissionWorld } from './world.ts'

const { reader, resources, outcome } = admissionWorld(['PodSecurity'])
reader.put(resources.namespaces, { metadata: { name: 'open' } })
for (const level of ['privileged', 'baseline', 'restricted']) {
  const labels = { 'pod-security.kubernetes.io/enforce': level }
  reader.put(resources.namespaces, { metadata: { name: level, labels } })
}

type Json = Record<string, unknown>
const container = (securityContext: Json, more: Json = {}): Json => ({
  name: 'c',
  image: 'i',
  securityContext,
  ...more,
})
const hardened = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
}
const podIn = (namespace: string, spec: Json, annotations: Record<string, string> = {}) => ({
  kind: 'Pod',
  metadata: { name: 'p', namespace, annotations },
  spec: { containers: [container(hardened)], ...spec },
})
const refusalIn = async (level: string, spec: Json, annotations = {}): Promise<string> => {
  const object = podIn(level, spec, annotations) as KubeObject
  const told = await outcome({ resource: resources.pods, object })
  const start = `403 pods "p" is forbidden: violates PodSecurity "${level}:latest": `
  return told.startsWith(start) ? told.slice(start.length) : told
}
const one = (securityContext: Json, more: Json = {}): Json => ({
  containers: [container(securityContext, more)],
})

describe('the level baseline refuses', () => {
  it.each<[string, Json, string]>([
    [
      'namespaces of the host',
      { hostNetwork: true, hostIPC: true },
      'host namespaces (hostNetwork=true, hostIPC=true)',
    ],
    [
      'privileged containers',
      one({ privileged: true }),
      'privileged (container "c" must not set securityContext.privileged=true)',
    ],
    [
      'more capabilities than a container has',
      one({ capabilities: { add: ['SYS_ADMIN', 'CHOWN', 'NET_RAW'] } }),
      'non-default capabilities (container "c" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
    ],
    [
      'volumes of the host',
      {
        volumes: [
          { name: 'a', hostPath: { path: '/' } },
          { name: 'b', hostPath: { path: '/' } },
        ],
      },
      'hostPath volumes (volumes "a", "b")',
    ],
    [
      'ports of the host',
      one(hardened, {
        ports: [
          { containerPort: 1, hostPort: 80 },
          { containerPort: 2, hostPort: 443 },
        ],
      }),
      'hostPort (container "c" uses hostPorts 443, 80)',
    ],
    [
      'another mount of /proc',
      one({ procMount: 'Unmasked' }),
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'SELinux types, users and roles',
      { securityContext: { seLinuxOptions: { type: 'spc_t', user: 'u', role: 'r' } } },
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)',
    ],
    [
      'no seccomp profile at all',
      {
        securityContext: { seccompProfile: { type: 'Unconfined' } },
        ...one({ seccompProfile: { type: 'Unconfined' } }),
      },
      'seccompProfile (pod and container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      'no AppArmor profile at all',
      one({ appArmorProfile: { type: 'Unconfined' } }),
      'forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined")',
    ],
    [
      'sysctls that reach beyond the Pod',
      { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem' }, { name: 'kernel.msgmax' }] } },
      'forbidden sysctls (kernel.msgmax)',
    ],
    [
      'processes of a Windows host',
      { securityContext: { windowsOptions: { hostProcess: true } } },
      'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
    ],
  ])('%s', async (_, spec, expected) => {
    expect(await refusalIn('baseline', spec)).toBe(expected)
    expect(await refusalIn('privileged', spec)).toBe('admitted')
    expect(await refusalIn('open', spec)).toBe('admitted')
  })

  it('looks at initialization and ephemeral containers too (CVE-2023-2727)', async () => {
    const init = { ...container({ privileged: true }), name: 'init' }
    const debug = { ...container({ privileged: true }), name: 'debug' }
    expect(
      await refusalIn('baseline', { initContainers: [init], ephemeralContainers: [debug] }),
    ).toBe('privileged (containers "init", "debug" must not set securityContext.privileged=true)')
  })
})

describe('the level restricted also refuses', () => {
  it.each<[string, Json, string]>([
    [
      'whatever is not stated',
      {
        containers: [
          { name: 'a', image: 'i' },
          { name: 'b', image: 'i' },
        ],
      },
      'allowPrivilegeEscalation != false (containers "a", "b" must set securityContext.allowPrivilegeEscalation=false), ' +
        'unrestricted capabilities (containers "a", "b" must set securityContext.capabilities.drop=["ALL"]), ' +
        'runAsNonRoot != true (pod or containers "a", "b" must set securityContext.runAsNonRoot=true), ' +
        'seccompProfile (pod or containers "a", "b" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ],
    [
      'capabilities but one',
      one({ ...hardened, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE', 'CHOWN'] } }),
      'unrestricted capabilities (container "c" must not include "CHOWN" in securityContext.capabilities.add)',
    ],
    [
      'volumes that are no part of the cluster',
      {
        volumes: [
          { name: 'a', hostPath: { path: '/' } },
          { name: 'b', nfs: {} },
          { name: 'c', emptyDir: {} },
        ],
      },
      'restricted volume types (volumes "a", "b" use restricted volume types "hostPath", "nfs")',
    ],
    [
      'root by its number',
      { securityContext: { runAsUser: 0 } },
      'runAsUser=0 (pod must not set runAsUser=0)',
    ],
    [
      'root by refusal',
      one({ ...hardened, runAsNonRoot: false }),
      'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
    ],
  ])('%s', async (_, spec, expected) => {
    expect(await refusalIn('restricted', spec)).toBe(expected)
    expect(await refusalIn('restricted', {})).toBe('admitted')
  })

  it('but not what means nothing on Windows', async () => {
    const bare = { os: { name: 'windows' }, ...one({ runAsNonRoot: true }) }
    expect(await refusalIn('restricted', bare)).toBe('admitted')
  })
})

describe('which Pods are looked at', () => {
  it('updates that could make it worse, and no others', async () => {
    const old = podIn('baseline', one({ privileged: true })) as KubeObject
    const updated = async (object: object, subresource = '') =>
      (
        await outcome({
          resource: resources.pods,
          operation: 'UPDATE',
          subresource,
          object: object as KubeObject,
          old,
        })
      ).slice(0, 8)
    expect(await updated({ ...old, metadata: { ...old.metadata, labels: { a: 'b' } } })).toBe(
      'admitted',
    )
    const image = container({ privileged: true }, { image: 'other' })
    expect(await updated({ ...old, spec: { containers: [image] } })).toBe('admitted')
    const worse = { ...old, spec: { ...old['spec'], hostNetwork: true } }
    expect(await updated(worse)).toBe('403 pods')
    expect(await updated(worse, 'status')).toBe('admitted')
  })

  it('by the rules of the release that the version names', async () => {
    const labels = {
      'pod-security.kubernetes.io/enforce': 'baseline',
      'pod-security.kubernetes.io/enforce-version': 'v1.31',
    }
    reader.put(resources.namespaces, { metadata: { name: 'older', labels } })
    const sysctls = [{ name: 'net.ipv4.tcp_rmem' }]
    expect(await refusalIn('older', { securityContext: { sysctls } })).toBe(
      '403 pods "p" is forbidden: violates PodSecurity "baseline:v1.31": forbidden sysctls (net.ipv4.tcp_rmem)',
    )
    expect(await refusalIn('baseline', { securityContext: { sysctls } })).toBe('admitted')
  })
})

describe.each(['kubernetes', 'svc'] as const)('pod security, dialect %s', (dialect) => {
  let server: TestApiServer
  const label = (name: string) => `pod-security.${dialects[dialect].labelDomain}/${name}`
  beforeAll(async () => {
    server = await startApiServer({ dialect })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })
  const merge = { 'content-type': 'application/merge-patch+json' }
  const relabel = (ns: string, labels: object, query = '') =>
    server.request('PATCH', `/api/v1/namespaces/${ns}${query}`, {
      headers: merge,
      body: { metadata: { labels } },
    })
  const warningsOf = ({ headers: { warning } }: { headers: { warning?: unknown } }): string =>
    [warning].flat().join(', ')

  it('[VER-080] took the place of PodSecurityPolicy and enforces namespace labels', async () => {
    const { body } = await server.request('GET', '/apis/policy/v1')
    const kinds = (body.resources as { name: string }[]).map(({ name }) => name)
    expect(kinds).toContain('poddisruptionbudgets')
    expect(kinds).not.toContain('podsecuritypolicies')
    expect((await server.request('GET', '/apis/policy/v1beta1/podsecuritypolicies')).status).toBe(
      404,
    )
    await expect(
      startApiServer({ dialect, flags: ['--enable-admission-plugins=PodSecurityPolicy'] }),
    ).rejects.toThrow('plugin "PodSecurityPolicy" is unknown')
    const ns = await server.namespace()
    const pods = `/api/v1/namespaces/${ns}/pods`
    const make = (name: string) =>
      server.request('POST', pods, {
        body: { metadata: { name }, spec: one({ privileged: true }) },
      })
    expect((await make('before')).status).toBe(201)
    const labeled = await relabel(ns, { [label('enforce')]: 'baseline' })
    expect(warningsOf(labeled)).toContain(
      `existing pods in namespace \\"${ns}\\" violate the new PodSecurity enforce level \\"baseline:latest\\"`,
    )
    expect(warningsOf(labeled)).toContain('before: privileged')
    const refused = await make('after')
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'pods "after" is forbidden: violates PodSecurity "baseline:latest": privileged (container "c" must not set securityContext.privileged=true)',
    ])
    expect((await server.auditOf(refused)).annotations[label('enforce-policy')]).toBe(
      'baseline:latest',
    )
    expect((await server.request('GET', `${pods}/before`)).status).toBe(200)
  })

  it('warns and notes without refusing: by the modes warn and audit, and of controllers', async () => {
    const ns = await server.namespace()
    await relabel(ns, { [label('warn')]: 'restricted', [label('audit')]: 'baseline' })
    const spec = one({
      ...hardened,
      runAsNonRoot: false,
      privileged: true,
      allowPrivilegeEscalation: true,
    })
    const pod = await server.request('POST', `/api/v1/namespaces/${ns}/pods`, {
      body: { metadata: { name: 'p' }, spec },
    })
    expect(pod.status).toBe(201)
    expect(warningsOf(pod)).toContain(
      'would violate PodSecurity \\"restricted:latest\\": privileged',
    )
    expect((await server.auditOf(pod)).annotations[label('audit-violations')]).toBe(
      'would violate PodSecurity "baseline:latest": privileged (container "c" must not set securityContext.privileged=true)',
    )
    const enforced = await server.namespace()
    await relabel(enforced, { [label('enforce')]: 'baseline' })
    const labels = { app: 'x' }
    const deployment = await server.request(
      'POST',
      `/apis/apps/v1/namespaces/${enforced}/deployments`,
      {
        body: {
          metadata: { name: 'd' },
          spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
        },
      },
    )
    expect(deployment.status).toBe(201)
    expect(warningsOf(deployment)).toContain(
      'would violate PodSecurity \\"baseline:latest\\": privileged',
    )
  })

  it('labels that state no policy are refused; those that are there already are not', async () => {
    const ns = await server.namespace()
    const refused = await relabel(ns, {
      [label('enforce')]: 'strict',
      [label('warn-version')]: '1',
    })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      `Namespace "${ns}" is invalid: [metadata.labels[${label('enforce')}]: Invalid value: "strict": must be one of privileged, baseline, restricted, metadata.labels[${label('warn-version')}]: Invalid value: "1": must be "latest" or "v1.x"]`,
    ])
    const made = await server.request('POST', '/api/v1/namespaces', {
      body: { metadata: { name: 'bad', labels: { [label('audit')]: 'x' } } },
    })
    expect(made.status).toBe(422)
  })
})
