/** Random days of an informer and its server; at the end the cache must be what the server has, and handlers must know. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createInformer } from '../../../components/client/informer.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { FaultyServer, type Fault } from './faulty-server.ts'

const name = fc.constantFrom('a', 'b', 'c')
const kind = <const T extends string>(value: T): fc.Arbitrary<T> => fc.constant(value)
const faults: readonly Fault[] = ['end', 'lost', 'malformed', 'gone-event', 'error-event']

const happening = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: kind('put'), name }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('remove'), name }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('break'), fault: fc.constantFrom(...faults) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('compact') }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('bookmark') }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('down'), isDown: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('lag'), commits: fc.nat({ max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('repeat'), repeats: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: kind('wait'), ms: fc.constantFrom(0, 60, 2000, 40_000) }),
  },
)
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never

export const days: fc.Arbitrary<Happening[]> = fc.array(happening, { minLength: 5, maxLength: 40 })

const versions = (objects: Iterable<KubeObject>): string[] =>
  [...objects]
    .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
    .toSorted()

/** What handlers make of what they are told; a telling that does not fit what was told before is a failure. */
class Follower {
  readonly objects = new Map<string, KubeObject>()
  readonly #newest = new Map<string, number>()

  take(event: { type: 'add' | 'update' | 'delete'; object: KubeObject; old?: KubeObject }): void {
    const { type, object, old } = event
    const key = object.metadata.name ?? ''
    const known = this.objects.get(key)
    assert.equal(known !== undefined, type !== 'add', `${type} of ${key}`)
    if (type === 'update') {
      assert.equal(old?.metadata.resourceVersion, known?.metadata.resourceVersion)
      assert.equal(object.metadata.uid, known?.metadata.uid)
    }
    const revision = Number(object.metadata.resourceVersion)
    assert.ok(revision >= (this.#newest.get(key) ?? 0), `${key} went back in time`)
    this.#newest.set(key, revision)
    if (type === 'delete') this.objects.delete(key)
    else this.objects.set(key, object)
  }
}

/** Throws when the cache or a handler ends up with something else than the server has. */
export async function runDay(happenings: readonly Happening[], seed: number): Promise<void> {
  const clock = new FakeClock('2025-01-01T00:00:00Z', seed)
  const server = new FaultyServer(resourcesOf(dialects.kubernetes).configMaps)
  const informer = createInformer({ client: server.client(), clock, log: silentLog })
  const follower = new Follower()
  let failure: unknown
  informer.onEvent((event) => {
    try {
      follower.take(event)
      // The cache is never behind what handlers are told.
      const { name, uid } = event.object.metadata
      const cached = informer.get(`ns/${name}`)
      if (event.type === 'delete') assert.notEqual(cached?.metadata.uid, uid)
      else assert.equal(cached, event.object)
    } catch (error) {
      // An informer logs what a handler throws; here it is the result.
      failure ??= error
    }
  })
  const stopping = new AbortController()
  const running = informer.run(stopping.signal)
  try {
    for (const happening of happenings) {
      await act(happening, { server, clock })
      await settle(2)
    }
    server.isDown = false
    server.lag = 0
    // The longest wait between two attempts, for a watch that finds its place gone and for the list after it.
    await clock.step(150_000)
    if (failure !== undefined) throw failure
    assert.deepEqual(versions(informer.list()), versions(server.state().values()))
    assert.deepEqual(versions(follower.objects.values()), versions(server.state().values()))
  } finally {
    stopping.abort()
    await running
  }
}

async function act(
  happening: Happening,
  { server, clock }: { server: FaultyServer; clock: FakeClock },
): Promise<void> {
  switch (happening.kind) {
    case 'put':
      server.put(happening.name)
      return
    case 'remove':
      server.remove(happening.name)
      return
    case 'break':
      server.break(happening.fault)
      return
    case 'compact':
      server.compact()
      return
    case 'bookmark':
      server.bookmark()
      return
    case 'down':
      server.isDown = happening.isDown
      if (happening.isDown) server.break('lost')
      return
    case 'lag':
      server.lag = happening.commits
      return
    case 'repeat':
      server.repeats = happening.repeats
      return
    case 'wait':
      await clock.step(happening.ms)
      return
    default:
  }
}
