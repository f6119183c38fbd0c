/** Seccomp profiles from the request to the container runtime: rows POD-001 to POD-009. */
import { expect, it } from 'vitest'
import type { Container, Pod, SeccompProfile } from '../../../components/api/generated/types.ts'
import type { StartRequest } from '../../../components/node-agent/runtime/container-runtime.ts'
import { SimulatedRuntime } from '../../../components/node-agent/runtime/simulated-runtime.ts'
import { podAnnotations } from '../../../components/api/simulation.ts'
import { runPod } from '../../node-agent/build.ts'
import { FakeCluster } from '../../support/fake-client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { describeDialects, type SharedServer } from '../../support/shared-server.ts'

const runtimeDefault: SeccompProfile = { type: 'RuntimeDefault' }
const unconfined: SeccompProfile = { type: 'Unconfined' }
const localhost: SeccompProfile = { type: 'Localhost', localhostProfile: 'profiles/web.json' }
const container = (name: string, securityContext?: Container['securityContext']): Container => ({
  name,
  image: 'app:1',
  ...(securityContext === undefined ? {} : { securityContext }),
})

/** Posts a Pod, reads it back, and runs what was read; the profile that the runtime gets for each container. */
async function profiles(server: SharedServer, spec: Pod['spec']): Promise<Record<string, unknown>> {
  const read = await created(server, spec)
  const clock = new FakeClock()
  const runtime = new SimulatedRuntime({ clock, version: 'test', writeCheckpoint: async () => {} })
  const requests: StartRequest[] = []
  const start = runtime.startContainer.bind(runtime)
  runtime.startContainer = (request) => {
    requests.push(request)
    return start(request)
  }
  read.metadata.annotations = { [`${podAnnotations.exitAfter}.init`]: '1s' }
  const cluster = new FakeCluster(clock, server().dialect)
  await runPod(read, { clock, runtime, cluster })
  // Those of initialization end before the next ones start.
  for (let seconds = 0; seconds < 10; seconds += 1) await clock.step(1000)
  return Object.fromEntries(
    requests.map((request) => [request.container.name, request.seccompProfile]),
  )
}

async function created(server: SharedServer, spec: Pod['spec']): Promise<Pod> {
  const pods = `/api/v1/namespaces/${await server().namespace()}/pods`
  await server().ok('POST', pods, { body: { metadata: { name: 'p' }, spec } })
  return (await server().ok('GET', `${pods}/p`)) as Pod
}

describeDialects('seccomp profiles', (server) => {
  it("[POD-001] the Pod's is accepted and reaches the runtime for all containers", async () => {
    const spec = {
      securityContext: { seccompProfile: localhost },
      initContainers: [container('init'), { ...container('side'), restartPolicy: 'Always' }],
      containers: [container('a'), container('b')],
    }
    expect((await created(server, spec)).spec?.securityContext?.seccompProfile).toEqual(localhost)
    expect(await profiles(server, spec)).toEqual({
      init: localhost,
      side: localhost,
      a: localhost,
      b: localhost,
    })
  })

  it('[POD-002][POD-003] containers and init containers have their own', async () => {
    const spec = {
      initContainers: [container('init', { seccompProfile: unconfined })],
      containers: [container('a', { seccompProfile: localhost }), container('b')],
    }
    const { initContainers, containers = [] } = (await created(server, spec)).spec ?? {}
    const shown = [...(initContainers ?? []), ...containers]
    expect(shown.map(({ securityContext }) => securityContext?.seccompProfile)).toEqual([
      unconfined,
      localhost,
      undefined,
    ])
    expect(await profiles(server, spec)).toEqual({ init: unconfined, a: localhost, b: undefined })
  })

  it('[POD-004] ephemeral containers have their own', async () => {
    const { metadata } = await created(server, { containers: [container('a')] })
    const pod = `/api/v1/namespaces/${metadata.namespace ?? ''}/pods/p`
    const debug = container('debug', { seccompProfile: runtimeDefault })
    await server().ok('PATCH', `${pod}/ephemeralcontainers`, {
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
      body: { spec: { ephemeralContainers: [debug] } },
    })
    const read = (await server().ok('GET', pod)) as Pod
    expect(read.spec?.ephemeralContainers).toMatchObject([debug])
    const bad = container('more', { seccompProfile: { type: 'Other' } })
    const refused = await server().request('PATCH', `${pod}/ephemeralcontainers`, {
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
      body: { spec: { ephemeralContainers: [bad] } },
    })
    expect(refused.status).toBe(422)
  })

  const outcome = async (profile: object, where: 'pod' | 'container'): Promise<string> => {
    const securityContext = { seccompProfile: profile as SeccompProfile }
    const spec =
      where === 'pod'
        ? { securityContext, containers: [container('a')] }
        : { containers: [container('a', securityContext)] }
    const pods = `/api/v1/namespaces/${await server().namespace()}/pods`
    const body = { metadata: { name: 'p' }, spec }
    const { status, body: answer } = await server().request('POST', pods, { body })
    const [cause] = (answer.details?.causes ?? []) as { field: string; reason: string }[]
    return cause === undefined ? String(status) : `${status} ${cause.field} ${cause.reason}`
  }
  const fields = {
    pod: 'spec.securityContext.seccompProfile',
    container: 'spec.containers[0].securityContext.seccompProfile',
  } as const

  it.each(['pod', 'container'] as const)(
    '[POD-005][POD-006] three types are known, and only one has a file: %s',
    async (where) => {
      const at = fields[where]
      expect(await outcome(unconfined, where)).toBe('201')
      expect(await outcome(runtimeDefault, where)).toBe('201')
      expect(await outcome(localhost, where)).toBe('201')
      expect(await outcome({ type: 'Other' }, where)).toBe(`422 ${at}.type FieldValueNotSupported`)
      expect(await outcome({ type: 'Localhost' }, where)).toBe(
        `422 ${at}.localhostProfile FieldValueRequired`,
      )
      for (const profile of [runtimeDefault, unconfined]) {
        expect(await outcome({ ...profile, localhostProfile: 'x' }, where)).toBe(
          `422 ${at}.localhostProfile FieldValueInvalid`,
        )
      }
    },
  )

  it("[POD-007][POD-008][POD-009] a container's beats the Pod's, else it has that; a privileged one none", async () => {
    const spec = {
      securityContext: { seccompProfile: runtimeDefault },
      containers: [
        container('own', { seccompProfile: unconfined }),
        container('inherits', { runAsUser: 7 }),
        container('privileged', { privileged: true, seccompProfile: runtimeDefault }),
        container('privileged-silent', { privileged: true }),
      ],
    }
    expect(await profiles(server, spec)).toEqual({
      own: unconfined,
      inherits: runtimeDefault,
      privileged: unconfined,
      'privileged-silent': unconfined,
    })
  })
})
